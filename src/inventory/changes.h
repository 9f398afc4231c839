// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "gpu/inventory.h"

namespace tranche {

// One thing that is different between two inventories, for the log.
struct InventoryChange {
  bool is_bad = false;
  std::string what;    // "gpu is unhealthy"
  std::string device;  // uuid
  std::string index;   // "3" or "3:1"
  std::string detail;  // the reason, or what it is

  bool operator==(const InventoryChange&) const = default;
};

std::vector<InventoryChange> changes_between(const Inventory& before, const Inventory& after);

}  // namespace tranche
