// SPDX-License-Identifier: Apache-2.0
//
// Translates a failed driver call.
#pragma once

#include "core/health/driver_reading.h"
#include "node/driver/nvml/library.h"

namespace tranche::node::nvml {

inline GpuFailure failure_of(const Library& library, const char* function, abi::Return code) {
  GpuFailure failure{FailureKind::kOther, library.describe(function, code)};
  if (code == abi::kGpuIsLost) failure.kind = FailureKind::kLost;
  if (code == abi::kResetRequired) failure.kind = FailureKind::kNeedsReset;
  return failure;
}

}  // namespace tranche::node::nvml
