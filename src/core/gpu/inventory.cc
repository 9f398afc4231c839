// SPDX-License-Identifier: Apache-2.0
#include "core/gpu/inventory.h"

#include <algorithm>

namespace tranche::core {

const Gpu* find_gpu(const Inventory& inventory, const GpuUuid& uuid) {
  const auto found = std::ranges::find(inventory.gpus, uuid, &Gpu::uuid);
  return found == inventory.gpus.end() ? nullptr : &*found;
}

}  // namespace tranche::core
