// SPDX-License-Identifier: Apache-2.0
#include "core/health/pci_slots.h"

#include <algorithm>

namespace tranche::core {

std::set<GpuUuid> named_gpus(const DriverReading& reading) {
  std::set<GpuUuid> named;
  for (const GpuReading& one : reading.gpus) {
    if (one.gpu) named.insert(one.gpu->uuid);
  }
  return named;
}

std::vector<Replacement> replaced_gpus(const NodeState& state, const DriverReading& reading) {
  // Another kind of source has other names for the same cards.
  if (state.seen_by != DriverKind::kNone && state.seen_by != reading.kind) return {};
  const std::set<GpuUuid> named = named_gpus(reading);
  std::vector<Replacement> replaced;
  for (const Gpu& known : state.inventory.gpus) {
    if (named.contains(known.uuid) || !known.pci) continue;
    for (const GpuReading& one : reading.gpus) {
      if (!one.gpu || one.gpu->pci != known.pci) continue;
      replaced.push_back({known.uuid, one.gpu->uuid, *known.pci});
      break;
    }
  }
  return replaced;
}

const Gpu* gpu_at(const NodeState& state, const PciAddress& pci) {
  const Gpu* found = nullptr;
  for (const Gpu& gpu : state.inventory.gpus) {
    if (gpu.pci != pci) continue;
    if (found == nullptr || state.named.contains(gpu.uuid)) found = &gpu;
  }
  return found;
}

const Gpu* gpu_of(const NodeState& state, const KernelXid& line) {
  const Gpu* there = gpu_at(state, line.pci);
  // Device nodes alone have other names for GPUs.
  if (line.uuid.empty() || state.seen_by == DriverKind::kDeviceNodes) return there;
  return find_gpu(state.inventory, GpuUuid(line.uuid));
}

bool is_of_new_gpu(const NodeState& state, const DriverReading& reading, const KernelXid& line) {
  const Gpu* known = gpu_at(state, line.pci);
  return std::ranges::any_of(reading.gpus, [&](const GpuReading& one) {
    if (!one.gpu || one.gpu->pci != line.pci) return false;
    if (known != nullptr && known->uuid == one.gpu->uuid) return false;
    // The card that was there before had its errors there too.
    return line.uuid.empty() || reading.kind != DriverKind::kNvml ||
           line.uuid == one.gpu->uuid.text;
  });
}

}  // namespace tranche::core
