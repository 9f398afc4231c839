// SPDX-License-Identifier: Apache-2.0
//
// The GPUs that were set to serve nobody but an MPS daemon, remembered in the
// daemon's folder: whoever removes the daemon puts them back, also when the
// agent that set them is long gone.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/mps/mps_plan.h"

namespace tranche::node {

// Sets a device's compute mode: exclusive to one process, or the default.
using SetComputeMode = std::function<Status(const std::string& uuid, bool exclusive)>;
// Whether a device is exclusive to one process now.
using IsExclusive = std::function<Result<bool>(const std::string& uuid)>;

struct ComputeModeDriver {
  SetComputeMode set;
  IsExclusive is_exclusive;
  // Whether the driver is closed by `release`: both calls fail until `resume`. Empty: never.
  std::function<bool()> is_released = {};
};

// Brings the devices to what the plan says. Touches none that is not exclusive
// and was not made so by us. While the driver is released, what was set before counts as set;
// renew_compute_mode() checks it afterwards.
Status apply_compute_mode(const MpsDaemonPlan& plan, const ComputeModeDriver& driver);
// Sets again what somebody else changed since: those devices, by uuid. A device whose mode
// cannot be read counts as unchanged. An error: one cannot be set.
Result<std::vector<std::string>> renew_compute_mode(const MpsDaemonPlan& plan,
                                                    const ComputeModeDriver& driver);
// Puts back what was set. A device that cannot be put back does not keep the
// others from it.
Status restore_compute_mode(const MpsDaemonPlan& plan, const SetComputeMode& set);

}  // namespace tranche::node
