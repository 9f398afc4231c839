// SPDX-License-Identifier: Apache-2.0
//
// Reads and sets compute modes of GPUs, so that only clients of the MPS daemon can use an exclusive
// one. The agent changes no other setting of the driver.
//
// Every call opens its own driver session on a thread that can be left behind, so it may run while
// the scanning thread reads GPUs. Not thread-safe: one thread uses it.
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

  // kNotFound: the driver has no such GPU. kUnavailable: the mode is unknown, as for a GPU with
  // MIG.
  Result<ComputeMode> read(const GpuUuid& gpu);

  // Lasts until the driver is unloaded or another program sets it. Needs root. Does not stop what
  // runs on the GPU.
  Status set(const GpuUuid& gpu, ComputeMode mode);

  // The last call that was left behind; while it is stuck the driver stays open.
  const StuckCall& stuck() const { return stuck_; }

 private:
  using Work = std::function<Result<int>(const Session&, abi::Device)>;
  // Runs `work` on the GPU in an own session, with a deadline.
  Result<int> on(const GpuUuid& gpu, Work work);

  const DriverOptions options_;
  PatientCaller caller_;
  StuckCall stuck_;
};

}  // namespace tranche::node::nvml
