// SPDX-License-Identifier: Apache-2.0
#include "core/health/changes.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/text.h"

namespace tranche::core {
namespace {

struct Seen {
  std::string index;
  std::string pci;
  std::string detail;
  Health health;
};

using Devices = std::map<std::string, Seen>;

Devices devices_of(const Inventory& inventory) {
  Devices devices;
  for (const Gpu& gpu : inventory.gpus) {
    const std::string index = std::to_string(gpu.index);
    const std::string pci = gpu.pci ? to_string(*gpu.pci) : "";
    devices[gpu.uuid.text] = {index, pci, gpu.model, gpu.health};
    for (const MigDevice& mig : gpu.mig) {
      devices[mig.uuid.text] = {fmt::format("{}:{}", index, mig.index), pci, to_string(mig.profile),
                                mig.health};
    }
  }
  return devices;
}

// The remedy for each trouble of the device; the first list that has the trouble counts.
std::string remedies_of(const std::string& device, const Health& health,
                        const std::vector<const std::vector<Remedy>*>& lists) {
  std::vector<std::string> said;
  for (const std::string& trouble : health.troubles) {
    for (const std::vector<Remedy>* list : lists) {
      const auto found = std::ranges::find_if(
          *list, [&](const Remedy& one) { return one.device == device && one.trouble == trouble; });
      if (found == list->end()) continue;
      const bool is_new = std::ranges::find(said, found->what) == said.end();
      if (is_new) said.push_back(found->what);
      break;
    }
  }
  return join(said, "; ");
}

}  // namespace

std::string_view to_string(DeviceChange change) {
  switch (change) {
    case DeviceChange::kFound: return "device found";
    case DeviceChange::kGone: return "device is gone";
    case DeviceChange::kUnhealthy: return "device is unhealthy";
    case DeviceChange::kHealthyAgain: return "device is healthy again";
  }
  return "?";
}

std::vector<InventoryChange> changes_between(const Inventory& before, const Inventory& after,
                                             const std::vector<Remedy>& ended) {
  const Devices old_devices = devices_of(before);
  const Devices new_devices = devices_of(after);
  std::vector<InventoryChange> changes;
  for (const auto& [uuid, seen] : old_devices) {
    if (!new_devices.contains(uuid)) {
      changes.push_back({true, DeviceChange::kGone, uuid, seen.index, seen.detail, seen.pci});
    }
  }
  for (const auto& [uuid, seen] : new_devices) {
    const auto known = old_devices.find(uuid);
    if (known == old_devices.end()) {
      changes.push_back({false, DeviceChange::kFound, uuid, seen.index, seen.detail, seen.pci});
    }
    const Health last = known == old_devices.end() ? Health{} : known->second.health;
    if (last == seen.health) continue;
    if (seen.health.ok()) {
      changes.push_back({.is_bad = false,
                         .what = DeviceChange::kHealthyAgain,
                         .device = uuid,
                         .index = seen.index,
                         .detail = "was: " + last.reason(),
                         .pci = seen.pci,
                         .because = remedies_of(uuid, last, {&ended, &before.remedies})});
    } else {
      changes.push_back({.is_bad = true,
                         .what = DeviceChange::kUnhealthy,
                         .device = uuid,
                         .index = seen.index,
                         .detail = seen.health.reason(),
                         .pci = seen.pci,
                         .cleared_by = remedies_of(uuid, seen.health, {&after.remedies})});
    }
  }
  return changes;
}

}  // namespace tranche::core
