// SPDX-License-Identifier: Apache-2.0
//
// Modes and limits, with the few calls that set one: those write the world, so
// that every program on it sees what was set.
#include <algorithm>
#include <string>
#include <vector>

#include "testbed/driver/call.h"
#include "testbed/driver/more_abi.h"
#include "testbed/world/changes.h"
#include "testbed/world/world_file.h"

using namespace tranche::testbed::sim;  // NOLINT(google-build-using-namespace)

namespace {

abi::Return change_world(Target& target, const std::function<void(Gpu&)>& edit) {
  const auto changed = edit_world_file(target.call.live->path(), edit_gpu(target.gpu.uuid, edit));
  // Without the right to write there, it is a client that is not root.
  return changed ? abi::kSuccess : abi::kNoPermission;
}

// Off for a parent with MIG on: there, the modes are those of its devices.
bool hides_mode(const Target& target) { return target.gpu.mig.enabled && !target.is_mig(); }

// What takes a limit back.
bool is_none(const MemoryLimit& limit) {
  return limit.soft_bytes == 0 && limit.hard_bytes == ~std::uint64_t{0};
}

// In place of the one that the group has.
void put_limit(std::vector<MemoryLimit>& limits, const MemoryLimit& limit) {
  std::erase_if(limits, [&](const MemoryLimit& old) { return old.cgroup == limit.cgroup; });
  if (!is_none(limit)) limits.push_back(limit);
}

}  // namespace

extern "C" {

abi::Return nvmlDeviceGetPersistenceMode(abi::Device device, unsigned* mode) {
  return on_gpu(__func__, device, Need::kIdentity,
                [&](Target& target) { return answer(mode, target.gpu.persistence ? 1 : 0); });
}

abi::Return nvmlDeviceGetComputeMode(abi::Device device, int* mode) {
  return on_device(__func__, device, Need::kWork, [&](Target& target) -> abi::Return {
    if (hides_mode(target)) return abi::kNotSupported;
    return answer(mode, target.is_mig() ? 0 : target.gpu.compute_mode);
  });
}

abi::Return nvmlDeviceSetComputeMode(abi::Device device, int mode) {
  return on_gpu(__func__, device, Need::kWork, [&](Target& target) -> abi::Return {
    if (mode != abi::kComputeDefault && mode != abi::kComputeProhibited &&
        mode != abi::kComputeExclusiveProcess) {
      return abi::kInvalidArgument;
    }
    if (hides_mode(target)) return abi::kNotSupported;
    return change_world(target, [&](Gpu& gpu) { gpu.compute_mode = static_cast<unsigned>(mode); });
  });
}

abi::Return nvmlDeviceGetTemperature(abi::Device device, int sensor, unsigned* celsius) {
  return on_gpu(__func__, device, Need::kIdentity, [&](Target& target) -> abi::Return {
    if (sensor != 0) return abi::kInvalidArgument;
    return answer(celsius, target.gpu.vitals.temperature_c);
  });
}

abi::Return nvmlDeviceGetPowerUsage(abi::Device device, unsigned* milliwatts) {
  return on_gpu(__func__, device, Need::kIdentity,
                [&](Target& target) { return answer(milliwatts, target.gpu.vitals.power_mw); });
}

// Limits of a control group's memory on a GPU (R615). Nothing to say for one
// that has none, and all bits set takes one back.
abi::Return nvmlDeviceSetMemoryLimits_v1(abi::Device device,
                                         const layout::SetMemoryLimits* wanted) {
  return on_device(__func__, device, Need::kWork, [&](Target& target) -> abi::Return {
    if (target.call.branch() < 615 || target.is_mig() || target.gpu.mig.enabled) {
      return abi::kNotSupported;
    }
    if (wanted == nullptr || wanted->name_space == nullptr) return abi::kInvalidArgument;
    const MemoryLimit limit{wanted->name_space, wanted->soft, wanted->hard};
    const std::uint64_t total = target.gpu.model.memory_mib << 20;
    if (limit.soft_bytes > limit.hard_bytes || (!is_none(limit) && limit.hard_bytes > total)) {
      return abi::kInvalidArgument;
    }
    if (!limit.cgroup.starts_with("/")) return abi::kOperatingSystem;
    return change_world(target, [&](Gpu& gpu) { put_limit(gpu.memory_limits, limit); });
  });
}

abi::Return nvmlDeviceGetMemoryLimits_v1(abi::Device device, abi::MemoryLimits* limits) {
  return on_device(__func__, device, Need::kWork, [&](Target& target) -> abi::Return {
    if (target.call.branch() < 615 || target.is_mig()) return abi::kNotSupported;
    if (limits == nullptr || limits->name_space == nullptr) return abi::kInvalidArgument;
    const auto& all = target.gpu.memory_limits;
    const auto found =
        std::ranges::find(all, std::string(limits->name_space), &MemoryLimit::cgroup);
    if (found == all.end()) return abi::kNotFound;
    limits->soft = found->soft_bytes;
    limits->hard = found->hard_bytes;
    limits->used = found->used_bytes;
    return abi::kSuccess;
  });
}

}  // extern "C"
