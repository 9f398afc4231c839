// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace tranche::core {

// The processes that may compute on a GPU.
enum class ComputeMode {
  kDefault,           // all
  kExclusiveProcess,  // one process: with MPS the daemon's server, so only its clients
  kProhibited,        // none
  kOther,             // one that current drivers do not have
};

constexpr std::string_view to_string(ComputeMode mode) {
  switch (mode) {
    case ComputeMode::kDefault: return "default";
    case ComputeMode::kExclusiveProcess: return "exclusive-process";
    case ComputeMode::kProhibited: return "prohibited";
    case ComputeMode::kOther: return "other";
  }
  return "other";
}

}  // namespace tranche::core
