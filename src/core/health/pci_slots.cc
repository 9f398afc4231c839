// SPDX-License-Identifier: Apache-2.0
#include "inventory/pci_slots.h"

#include <algorithm>

namespace tranche {

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

}  // namespace tranche
