// SPDX-License-Identifier: Apache-2.0
//
// The GPUs that /gpu.env names.
#pragma once

#include <string>
#include <vector>

namespace tranche::core {

struct GpuEnv {
  bool all = false;                // the word "all"
  std::vector<std::string> names;  // uuids or indexes, each once, in their order

  bool operator==(const GpuEnv&) const = default;
};

}  // namespace tranche::core
