// SPDX-License-Identifier: Apache-2.0
//
// The driver's compute modes, for MPS daemons' threads.
#pragma once

#include <mutex>
#include <string>
#include <utility>

#include "node/driver/nvml/compute_modes.h"
#include "node/mps/exclusive_mode.h"

namespace tranche::programs {

class MpsComputeModes {
 public:
  explicit MpsComputeModes(DriverOptions options) : modes_(std::move(options)) {}

  // Does not outlive this. May be called from any thread.
  ComputeModeDriver driver() {
    return {.set = [this](const std::string& uuid, bool exclusive) -> Status {
              const std::lock_guard lock(mutex_);
              return modes_.set(GpuUuid(uuid),
                                exclusive ? ComputeMode::kExclusiveProcess : ComputeMode::kDefault);
            },
            .is_exclusive = [this](const std::string& uuid) -> Result<bool> {
              const std::lock_guard lock(mutex_);
              const Result<ComputeMode> mode = modes_.read(GpuUuid(uuid));
              if (!mode) return mode.error();
              return *mode == ComputeMode::kExclusiveProcess;
            }};
  }

 private:
  std::mutex mutex_;
  nvml::ComputeModes modes_;  // guarded by mutex_
};

}  // namespace tranche::programs
