// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/gpu/inventory.h"

namespace tranche::core {

enum class DeviceChange { kFound, kGone, kUnhealthy, kHealthyAgain };
// "device is unhealthy", for the log.
std::string_view to_string(DeviceChange change);

// One difference between two inventories.
struct InventoryChange {
  bool is_bad = false;
  DeviceChange what = DeviceChange::kFound;
  std::string device;      // uuid
  std::string index;       // "3" or "3:1"
  std::string detail;      // the reason, or what it is
  std::string pci;         // of the GPU; empty: not known
  std::string cleared_by;  // of one that is unhealthy now
  std::string because;     // of one that is healthy again: what was seen

  bool operator==(const InventoryChange&) const = default;
};

// `ended` has the evidence for faults that ended in between; a fault that is missing there gets
// its expected remedy.
std::vector<InventoryChange> changes_between(const Inventory& before, const Inventory& after,
                                             const std::vector<Remedy>& ended = {});

}  // namespace tranche::core
