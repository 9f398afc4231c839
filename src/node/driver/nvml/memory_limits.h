// SPDX-License-Identifier: Apache-2.0
//
// Whether the driver can hold a control group to a limit of GPU memory (R615): the
// library has the function, and a GPU, asked for the limits of a group, does not call
// it unsupported. Nothing is set.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/health/driver_reading.h"
#include "node/driver/nvml/session.h"
#include "os/patient_caller.h"

namespace tranche::node::nvml {

struct LimitsAnswer {
  enum class Says { kYes, kNo, kUnknown };
  Says says = Says::kUnknown;
  std::string why;  // for kUnknown: "nvmlDeviceGetMemoryLimits_v1: Unknown Error"
  // It also said that the GPU is lost or must be reset.
  std::optional<GpuFailure> failure;
};

// What one GPU says. Plain calls; they may hang.
LimitsAnswer ask_for_limits(const Session& session, unsigned index);

// Asks once in each session, and while nobody has answered again at later looks, each
// time after twice as many. Until then what was known last holds: that a call fails or
// does not return is no answer. Not thread-safe.
class MemoryLimitsInquiry {
 public:
  // At each look at the GPUs. At most one call of it is waited for in vain.
  struct Look {
    std::shared_ptr<const Session> session;
    std::uint64_t session_number = 0;
    unsigned gpus = 0;
    std::chrono::milliseconds patience{};
  };
  void look(PatientCaller& caller, const Look& look);

  bool limits_memory() const { return limits_memory_; }
  // Why that is not known for certain; empty: it is.
  const std::string& unknown() const { return unknown_; }
  // Calls that have not come back.
  bool is_stuck() const;
  // GPUs that said meanwhile that they are lost or must be reset, by index.
  std::map<unsigned, GpuFailure> take_failures();

 private:
  bool is_due(const Look& look);
  void ask(PatientCaller& caller, const Look& look);
  void wait_longer();

  bool limits_memory_ = false;
  std::string unknown_;
  std::uint64_t session_ = 0;  // the one that was asked last
  unsigned pause_ = 0;         // looks between two askings
  unsigned left_ = 0;          // of them
  unsigned next_ = 0;          // the GPU to begin with
  std::vector<StuckCall> stuck_;
  std::map<unsigned, GpuFailure> failures_;
};

}  // namespace tranche::node::nvml
