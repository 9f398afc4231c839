// SPDX-License-Identifier: Apache-2.0
#include "core/nested/guest_health.h"

#include <algorithm>

namespace tranche::core {
namespace {

const Health* health_in_offer(const Catalog& catalog, const std::string& resource,
                              const std::string& uuid) {
  for (const Offer& offer : catalog.offers) {
    if (offer.name.text != resource) continue;
    for (const OfferedDevice& device : offer.devices) {
      if (device.uuid == uuid) return &device.health;
    }
  }
  return nullptr;
}

}  // namespace

Health guest_health(const Catalog& catalog, const Inventory& inventory, const std::string& resource,
                    const NestedDevice& device) {
  if (const Health* offered = health_in_offer(catalog, resource, device.uuid)) return *offered;
  if (const Gpu* gpu = find_gpu(inventory, GpuUuid(device.gpu))) {
    if (!device.is_mig()) return gpu->health;
    const auto slice = std::ranges::find(gpu->mig, MigUuid(device.uuid), &MigDevice::uuid);
    if (slice != gpu->mig.end()) {
      Health health = gpu->health;
      health.troubles.insert(health.troubles.end(), slice->health.troubles.begin(),
                             slice->health.troubles.end());
      return health;
    }
  }
  if (!inventory.driver_trouble.empty()) return {{"driver: " + inventory.driver_trouble}};
  return {{"the node no longer has it"}};
}

}  // namespace tranche::core
