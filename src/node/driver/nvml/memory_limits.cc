// SPDX-License-Identifier: Apache-2.0
#include "node/driver/nvml/memory_limits.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "node/driver/nvml/witness.h"

namespace tranche::node::nvml {
namespace {

using Says = LimitsAnswer::Says;

constexpr const char* kFunction = "nvmlDeviceGetMemoryLimits_v1";
constexpr unsigned kLongestPause = 64;
// Each stuck call keeps a thread and the driver open.
constexpr std::size_t kMostStuck = 4;

// The root group has no limits: "not found" is an answer, and so is any error about the group or
// the caller.
constexpr const char* kRootGroup = "/sys/fs/cgroup";

Says meaning(abi::Return code) {
  switch (code) {
    case abi::kSuccess:
    case abi::kInvalidArgument:
    case abi::kNoPermission:
    case abi::kNotFound:
    case abi::kOperatingSystem: return Says::kYes;
    case abi::kNotSupported:
    case abi::kFunctionNotFound:
    case abi::kArgumentVersionMismatch: return Says::kNo;
    default: return Says::kUnknown;
  }
}

bool has_functions(const Session& session) {
  return session.api().set_memory_limits != nullptr && session.api().memory_limits != nullptr;
}

}  // namespace

LimitsAnswer ask_for_limits(const Session& session, unsigned index) {
  Witness witness(session.library());
  const char* function = "nvmlDeviceGetHandleByIndex";
  abi::Device device = nullptr;
  abi::Return code = witness.hear(function, session.api().device_by_index(index, &device));
  Says says = Says::kUnknown;
  if (code == abi::kSuccess) {
    function = kFunction;
    abi::MemoryLimits limits{.name_space = kRootGroup};
    code = witness.hear(function, session.api().memory_limits(device, &limits));
    says = meaning(code);
  }
  LimitsAnswer answer{.says = says, .failure = witness.failure()};
  if (says == Says::kUnknown) answer.why = session.library().describe(function, code);
  return answer;
}

void MemoryLimitsInquiry::look(PatientCaller& caller, const Context& context) {
  if (!has_functions(*context.session)) {
    limits_memory_ = false;
    unknown_.clear();
    return;
  }
  if (is_due(context)) ask(caller, context);
}

bool MemoryLimitsInquiry::is_due(const Context& context) {
  if (std::exchange(session_, context.session_number) != context.session_number) return true;
  if (unknown_.empty()) return false;
  if (left_ == 0) return true;
  --left_;
  return false;
}

void MemoryLimitsInquiry::ask(PatientCaller& caller, const Context& context) {
  std::erase_if(stuck_, [](const StuckCall& call) { return !call.is_stuck(); });
  std::string unknown;
  for (unsigned i = 0; i < context.gpus; ++i) {
    if (stuck_.size() >= kMostStuck) {
      unknown = fmt::format("{} did not return, {} times", kFunction, kMostStuck);
      break;
    }
    const unsigned index = (next_ + i) % context.gpus;
    auto outcome = caller.call<LimitsAnswer>(
        [session = context.session, index] { return ask_for_limits(*session, index); },
        context.patience);
    if (!outcome.value) {
      stuck_.push_back(outcome.stuck);
      next_ = index + 1;
      unknown = std::string(kFunction) + " did not return";
      break;
    }
    if (outcome.value->failure) failures_[index] = *outcome.value->failure;
    if (outcome.value->says == Says::kUnknown) unknown = outcome.value->why;
    if (outcome.value->says != Says::kYes) continue;
    limits_memory_ = true;
    unknown_.clear();
    pause_ = 0;
    return;
  }
  unknown_ = std::move(unknown);
  if (unknown_.empty()) {
    limits_memory_ = false;
    pause_ = 0;
  } else {
    wait_longer();
  }
}

void MemoryLimitsInquiry::wait_longer() {
  left_ = pause_;
  pause_ = std::clamp(pause_ * 2, 1U, kLongestPause);
}

bool MemoryLimitsInquiry::is_stuck() const {
  return std::ranges::any_of(stuck_, &StuckCall::is_stuck);
}

std::map<unsigned, GpuFailure> MemoryLimitsInquiry::take_failures() {
  return std::exchange(failures_, {});
}

}  // namespace tranche::node::nvml
