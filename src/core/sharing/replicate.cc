// SPDX-License-Identifier: Apache-2.0
#include "core/sharing/replicate.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "core/sharing/selection.h"

namespace tranche::core {
namespace {

void note_missing(const Replication& row, const std::vector<OfferedDevice>& devices,
                  const Inventory& inventory, const std::string& section,
                  std::vector<std::string>& notes) {
  std::vector<const OfferedDevice*> there;
  for (const OfferedDevice& device : devices) there.push_back(&device);
  for (const std::string& sentence : missing(row.devices, there, inventory)) {
    notes.push_back(fmt::format("{} of {}: {}", section, row.resource.text, sentence));
  }
}

}  // namespace

void replicate(DevicesByName& offers, const SharingPolicy& policy, const Inventory& inventory,
               std::vector<std::string>& notes) {
  const std::string section = policy.replicas_use_mps ? "sharing.mps" : "sharing.timeSlicing";
  // Entries refer to the resources before any entry was applied: a device that an entry
  // moved to a new name is not shared again by a later entry.
  DevicesByName shared;
  for (const Replication& row : policy.replications) {
    const auto found = offers.find(row.resource);
    if (found == offers.end()) {
      notes.push_back(
          fmt::format("{} names {}, which this node does not have", section, row.resource.text));
      continue;
    }
    note_missing(row, found->second, inventory, section, notes);
    Selector selector(row.devices);
    std::vector<OfferedDevice> kept;
    for (OfferedDevice& device : found->second) {
      if (selector.takes(device)) {
        device.replicas = row.replicas;
        if (policy.replicas_use_mps) device.share_bytes = device.memory_bytes / row.replicas;
        shared[row.rename.value_or(row.resource)].push_back(std::move(device));
      } else {
        kept.push_back(std::move(device));
      }
    }
    found->second = std::move(kept);
  }
  for (auto& [name, devices] : shared) std::ranges::move(devices, std::back_inserter(offers[name]));
}

}  // namespace tranche::core
