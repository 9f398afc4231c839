// SPDX-License-Identifier: Apache-2.0
#include "nvml/memory_limits.h"

namespace tranche::nvml {
namespace {

// The root has no limits: that there are none to be found is an answer, and so
// is any complaint about the group or about who asks.
constexpr const char* kRootGroup = "/sys/fs/cgroup";

bool is_supported(abi::Return code) {
  switch (code) {
    case abi::kSuccess:
    case abi::kInvalidArgument:
    case abi::kNoPermission:
    case abi::kNotFound:
    case abi::kOperatingSystem: return true;
    default: return false;
  }
}

}  // namespace

bool limits_memory(const Session& session) {
  const Functions& api = session.api();
  if (api.set_memory_limits == nullptr || api.memory_limits == nullptr) return false;
  unsigned count = 0;
  if (api.device_count(&count) != abi::kSuccess) return false;
  for (unsigned index = 0; index < count; ++index) {
    abi::Device device = nullptr;
    if (api.device_by_index(index, &device) != abi::kSuccess) continue;
    abi::MemoryLimits limits{.name_space = kRootGroup};
    if (is_supported(api.memory_limits(device, &limits))) return true;
  }
  return false;
}

}  // namespace tranche::nvml
