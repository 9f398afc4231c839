// SPDX-License-Identifier: Apache-2.0
//
// Finds out whether the driver can limit the GPU memory of a control group (R615): the library has
// the function, and a GPU does not answer "not supported" to a query. Sets nothing.
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
  // The call reported the GPU as lost or in need of a reset.
  std::optional<GpuFailure> failure;
};

// Asks one GPU. Plain calls; they may hang.
LimitsAnswer ask_for_limits(const Session& session, unsigned index);

// Asks once per session. Without an answer, asks again at later readings, each time after twice as
// many. Until then the last answer holds: a call that fails or hangs is none. Not thread-safe.
class MemoryLimitsInquiry {
 public:
  // Called at each reading. At most one call runs into its deadline.
  struct Context {
    std::shared_ptr<const Session> session;
    std::uint64_t session_number = 0;
    unsigned gpus = 0;
    std::chrono::milliseconds patience{};
  };
  void look(PatientCaller& caller, const Context& context);

  bool limits_memory() const { return limits_memory_; }
  // Why that is uncertain; empty: it is certain.
  const std::string& unknown() const { return unknown_; }
  // Whether a call has not returned.
  bool is_stuck() const;
  // GPUs that a call reported as lost or in need of a reset, by index.
  std::map<unsigned, GpuFailure> take_failures();

 private:
  bool is_due(const Context& context);
  void ask(PatientCaller& caller, const Context& context);
  void wait_longer();

  bool limits_memory_ = false;
  std::string unknown_;
  std::uint64_t session_ = 0;  // last one asked
  unsigned pause_ = 0;         // readings between two queries
  unsigned left_ = 0;          // readings until the next query
  unsigned next_ = 0;          // GPU to begin with
  std::vector<StuckCall> stuck_;
  std::map<unsigned, GpuFailure> failures_;
};

}  // namespace tranche::node::nvml
