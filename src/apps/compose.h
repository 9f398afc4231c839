// SPDX-License-Identifier: Apache-2.0
//
// From what is there and what is configured to what the kubelet is served:
// the modules' steps in a row, and nothing of its own. Pure.
#pragma once

#include <string>
#include <vector>

#include "config/settings.h"
#include "gpu/inventory.h"
#include "grant/node_facts.h"
#include "kubelet/serving.h"
#include "ledger/ledger.h"
#include "sharing/catalog.h"

namespace tranche {

struct Composition {
  Catalog catalog;
  std::vector<Serving> servings;
  // Resources whose list the kubelet would not take, with the figures. They
  // are in the catalog and are not served.
  std::string oversized;
  bool needs_ledger = false;
};

// `ledger` is what is held, as far as that is known; null: it is not.
Composition compose(const Inventory& inventory, const Settings& settings, const NodeFacts& facts,
                    const Ledger* ledger);

// Whether the kubelet's own book-keeping is not enough: a device is offered
// under several names, or the kubelet is to be shown less than is free.
bool needs_ledger(const Catalog& catalog);

}  // namespace tranche
