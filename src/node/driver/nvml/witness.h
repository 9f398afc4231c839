// SPDX-License-Identifier: Apache-2.0
//
// Notes whether any call for a GPU, however unimportant, reported it as lost or in need of a reset.
#pragma once

#include <optional>

#include "node/driver/nvml/failure.h"

namespace tranche::node::nvml {

class Witness {
 public:
  explicit Witness(const Library& library) : library_(library) {}

  // Notes the result of a call and returns it.
  abi::Return hear(const char* function, abi::Return code) {
    if (!failure_ && (code == abi::kGpuIsLost || code == abi::kResetRequired)) {
      failure_ = failure_of(library_, function, code);
    }
    return code;
  }

  // The first such failure.
  const std::optional<GpuFailure>& failure() const { return failure_; }
  const Library& library() const { return library_; }

 private:
  const Library& library_;
  std::optional<GpuFailure> failure_;
};

}  // namespace tranche::node::nvml
