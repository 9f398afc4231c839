// SPDX-License-Identifier: Apache-2.0
//
// From what is there and what is configured to what the kubelet is served:
// the modules' steps in a row, and nothing of its own. Pure.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/settings.h"
#include "gpu/inventory.h"
#include "grant/enforcement.h"
#include "grant/node_facts.h"
#include "kubelet/serving.h"
#include "ledger/ledger.h"
#include "sharing/catalog.h"
#include "sharing/memory_unit.h"

namespace tranche {

struct Composition {
  Catalog catalog;
  std::vector<Serving> servings;
  // Resources whose list the kubelet would not take, with the figures. They
  // are in the catalog and are not served.
  std::string oversized;
  // A device has several names, or a resource shows its largest free block: the kubelet's
  // own book-keeping does not suffice for that.
  bool needs_ledger = false;
  // Why nothing is to be made of what the catalog needs of MPS, and its daemons are
  // to be left as they are; empty: it is all there is to know.
  std::string leaves_mps_alone;
};

// What is known of the node beside its GPUs.
struct Circumstances {
  NodeFacts facts;
  Enforcers enforcers;
  std::shared_ptr<const Ledger> ledger;  // who holds what; null: it is not known
  KeptUnits kept_units;
};

Composition compose(const Inventory& inventory, const Settings& settings,
                    const Circumstances& circumstances);

}  // namespace tranche
