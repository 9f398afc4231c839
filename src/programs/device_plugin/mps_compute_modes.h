// SPDX-License-Identifier: Apache-2.0
//
// The driver's compute modes, for MPS daemons' threads. While the driver is released no call
// opens it.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "node/driver/nvml/compute_modes.h"
#include "node/mps/exclusive_mode.h"

namespace tranche::programs {

class MpsComputeModes {
 public:
  // `is_released` may be called from any thread.
  explicit MpsComputeModes(
      DriverOptions options, std::function<bool()> is_released = [] { return false; })
      : is_released_(std::move(is_released)), modes_(std::move(options)) {}

  // Does not outlive this. May be called from any thread.
  ComputeModeDriver driver() {
    return {.set = [this](const std::string& uuid, bool exclusive) -> Status {
              const Call call(*this);
              if (is_released_()) return released();
              return modes_.set(GpuUuid(uuid),
                                exclusive ? ComputeMode::kExclusiveProcess : ComputeMode::kDefault);
            },
            .is_exclusive = [this](const std::string& uuid) -> Result<bool> {
              const Call call(*this);
              if (is_released_()) return released();
              const Result<ComputeMode> mode = modes_.read(GpuUuid(uuid));
              if (!mode) return mode.error();
              return *mode == ComputeMode::kExclusiveProcess;
            },
            .is_released = is_released_};
  }

  // Why the driver may be open here although it is released: a call has not returned. Empty: it
  // is closed. Does not wait; from any thread.
  std::string still_open() const {
    const std::lock_guard lock(state_mutex_);
    if (!is_calling_ && !stuck_.is_stuck()) return "";
    return "a driver call of the agent has not returned: the compute mode for MPS";
  }

 private:
  // From before it is known whether the driver is released until the driver is closed again:
  // whoever releases it sees each call that does not see the release.
  class Call {
   public:
    explicit Call(MpsComputeModes& modes) : modes_(modes), lock_(modes.mutex_) {
      const std::lock_guard lock(modes_.state_mutex_);
      modes_.is_calling_ = true;
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call() {
      const std::lock_guard lock(modes_.state_mutex_);
      modes_.is_calling_ = false;
      modes_.stuck_ = modes_.modes_.stuck();
    }

   private:
    MpsComputeModes& modes_;
    const std::lock_guard<std::mutex> lock_;
  };

  static Error released() {
    return {ErrorCode::kUnavailable, "the driver is released; run 'resume'"};
  }

  const std::function<bool()> is_released_;
  std::mutex mutex_;
  nvml::ComputeModes modes_;  // guarded by mutex_
  mutable std::mutex state_mutex_;
  // Guarded by state_mutex_.
  bool is_calling_ = false;
  StuckCall stuck_;
};

}  // namespace tranche::programs
