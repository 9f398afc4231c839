// SPDX-License-Identifier: Apache-2.0
//
// How much memory there is, and how much is taken.
#include <algorithm>
#include <cstdint>

#include "testbed/driver/call.h"

using namespace tranche::testbed::sim;  // NOLINT(google-build-using-namespace)

namespace {

struct Amounts {
  std::uint64_t total = 0;
  std::uint64_t reserved = 0;  // by the driver
  std::uint64_t used = 0;      // by processes
};

// Of the GPU, or of the MIG device's GPU instance.
Amounts amounts(const Target& target) {
  Amounts mib{.total = target.gpu.model.memory_mib, .reserved = target.gpu.model.reserved_mib};
  if (target.is_mig()) {
    const auto* profile = find_profile(target.gpu.model.mig, target.gpu_instance->profile);
    mib = {.total = profile->memory_mib};
  }
  for (const Process& process : target.gpu.processes) {
    if (target.is_mig() && process.gpu_instance != target.gpu_instance->id) continue;
    mib.used += process.memory_mib;
  }
  mib.used = std::min(mib.used, mib.total - mib.reserved);
  return {mib.total << 20, mib.reserved << 20, mib.used << 20};
}

}  // namespace

extern "C" {

// Here the driver's own part counts as used; drivers before R510 leave it out
// of the total instead.
abi::Return nvmlDeviceGetMemoryInfo(abi::Device device, abi::Memory* memory) {
  return on_device(__func__, device, Need::kWork, [&](Target& target) -> abi::Return {
    if (memory == nullptr) return abi::kInvalidArgument;
    const Amounts bytes = amounts(target);
    const bool old = target.call.branch() < 510;
    const std::uint64_t total = old ? bytes.total - bytes.reserved : bytes.total;
    const std::uint64_t used = old ? bytes.used : bytes.used + bytes.reserved;
    *memory = {.total = total, .free = total - used, .used = used};
    return abi::kSuccess;
  });
}

abi::Return nvmlDeviceGetMemoryInfo_v2(abi::Device device, abi::MemoryV2* memory) {
  return on_device(__func__, device, Need::kWork, [&](Target& target) -> abi::Return {
    if (memory == nullptr) return abi::kInvalidArgument;
    // Not the code of other versioned calls; a real driver answers so.
    if (memory->version != abi::kMemoryV2) return abi::kFunctionNotFound;
    const Amounts bytes = amounts(target);
    *memory = {.version = abi::kMemoryV2,
               .total = bytes.total,
               .reserved = bytes.reserved,
               .free = bytes.total - bytes.reserved - bytes.used,
               .used = bytes.used};
    return abi::kSuccess;
  });
}

abi::Return nvmlDeviceGetBAR1MemoryInfo(abi::Device device, abi::Memory* memory) {
  return on_gpu(__func__, device, Need::kWork, [&](Target& target) -> abi::Return {
    if (memory == nullptr) return abi::kInvalidArgument;
    const std::uint64_t total = target.gpu.model.bar1_mib << 20;
    const std::uint64_t used = std::min<std::uint64_t>(total, 1 << 20);
    *memory = {.total = total, .free = total - used, .used = used};
    return abi::kSuccess;
  });
}

}  // extern "C"
