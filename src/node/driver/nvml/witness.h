// SPDX-License-Identifier: Apache-2.0
//
// Whether any call about a GPU, of whatever importance by itself, said that the GPU is
// lost or must be reset.
#pragma once

#include <optional>

#include "node/driver/nvml/failure.h"

namespace tranche::node::nvml {

class Witness {
 public:
  explicit Witness(const Library& library) : library_(library) {}

  // Notes what a call said, and hands it on.
  abi::Return hear(const char* function, abi::Return code) {
    if (!failure_ && (code == abi::kGpuIsLost || code == abi::kResetRequired)) {
      failure_ = failure_of(library_, function, code);
    }
    return code;
  }

  // The first that was so said; empty: none.
  const std::optional<GpuFailure>& failure() const { return failure_; }
  const Library& library() const { return library_; }

 private:
  const Library& library_;
  std::optional<GpuFailure> failure_;
};

}  // namespace tranche::node::nvml
