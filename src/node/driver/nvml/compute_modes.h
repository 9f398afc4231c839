// SPDX-License-Identifier: Apache-2.0
//
// ComputeModes reads and sets who may compute on a GPU, for resources that a
// GPU is to be kept for: nobody but the MPS daemon's clients gets in then.
// Nothing else of ours changes a setting of the driver.
//
// Every call opens the driver for itself and is made on a thread that can be
// left behind, so it may be used while the scan thread reads GPUs. Not
// thread-safe by itself: one thread uses it.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "core/gpu/compute_mode.h"
#include "core/gpu/gpu.h"
#include "core/settings/driver_options.h"
#include "node/driver/nvml/session.h"
#include "os/patient_caller.h"

namespace tranche::node::nvml {

class ComputeModes {
 public:
  explicit ComputeModes(DriverOptions options);

  // kNotFound where the driver has no such GPU; kUnavailable where it cannot
  // say, as for a GPU that is cut with MIG.
  Result<ComputeMode> read(const GpuUuid& gpu);

  // Lasts until the driver is unloaded or somebody else sets it. Needs root.
  // What runs on the GPU already is not stopped.
  Status set(const GpuUuid& gpu, ComputeMode mode);

  // The last call that was left behind; while it is stuck the driver stays open.
  const StuckCall& stuck() const { return stuck_; }

 private:
  using Work = std::function<Result<int>(const Session&, abi::Device)>;
  // Finds the GPU in a session of its own and works on it; patiently.
  Result<int> on(const GpuUuid& gpu, Work work);

  const DriverOptions options_;
  PatientCaller caller_;
  StuckCall stuck_;
};

}  // namespace tranche::node::nvml
