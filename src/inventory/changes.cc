// SPDX-License-Identifier: Apache-2.0
#include "inventory/changes.h"

#include <map>

namespace tranche {
namespace {

struct Seen {
  std::string index;
  std::string detail;
  Health health;
};

using Devices = std::map<std::string, Seen>;

Devices devices_of(const Inventory& inventory) {
  Devices devices;
  for (const Gpu& gpu : inventory.gpus) {
    const std::string index = std::to_string(gpu.index);
    devices[gpu.uuid.text] = {index, gpu.model, gpu.health};
    for (const MigDevice& mig : gpu.mig) {
      devices[mig.uuid.text] = {index + ":" + std::to_string(mig.index), to_string(mig.profile),
                                mig.health};
    }
  }
  return devices;
}

}  // namespace

std::vector<InventoryChange> changes_between(const Inventory& before, const Inventory& after) {
  const Devices old_devices = devices_of(before);
  const Devices new_devices = devices_of(after);
  std::vector<InventoryChange> changes;
  for (const auto& [uuid, seen] : old_devices) {
    if (!new_devices.contains(uuid)) {
      changes.push_back({true, "device is gone", uuid, seen.index, seen.detail});
    }
  }
  for (const auto& [uuid, seen] : new_devices) {
    const auto known = old_devices.find(uuid);
    if (known == old_devices.end()) {
      changes.push_back({false, "device found", uuid, seen.index, seen.detail});
    }
    const Health last = known == old_devices.end() ? Health{} : known->second.health;
    if (last == seen.health) continue;
    if (seen.health.ok()) {
      changes.push_back(
          {false, "device is healthy again", uuid, seen.index, "was: " + last.reason()});
    } else {
      changes.push_back({true, "device is unhealthy", uuid, seen.index, seen.health.reason()});
    }
  }
  return changes;
}

}  // namespace tranche
