// SPDX-License-Identifier: Apache-2.0
//
// GPUs that are exclusive to an MPS daemon, remembered in the daemon's folder: whoever removes the
// daemon restores them, even if the agent that set them has long ended.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/mps/mps_plan.h"

namespace tranche::node {

// Sets a device's compute mode: exclusive to one process, or the default.
using SetComputeMode = std::function<Status(const std::string& uuid, bool exclusive)>;
// Whether a device is exclusive to one process.
using IsExclusive = std::function<Result<bool>(const std::string& uuid)>;

struct ComputeModeDriver {
  SetComputeMode set;
  IsExclusive is_exclusive;
  // Whether the driver is closed by `release`: both calls fail until `resume`. Empty: never.
  std::function<bool()> is_released;
};

// Makes the devices exclusive or not, as planned. Restores only devices that we made exclusive.
// While the driver is released, devices that were made exclusive before count as such;
// renew_compute_mode() checks them afterwards.
Status apply_compute_mode(const MpsDaemonPlan& plan, const ComputeModeDriver& driver);
// Makes devices exclusive again that another program changed, and returns their uuids. A device
// whose mode cannot be read counts as unchanged. Error: one cannot be set.
Result<std::vector<std::string>> renew_compute_mode(const MpsDaemonPlan& plan,
                                                    const ComputeModeDriver& driver);
// Restores the modes. Continues with the others after a failure.
Status restore_compute_mode(const MpsDaemonPlan& plan, const SetComputeMode& set);

}  // namespace tranche::node
