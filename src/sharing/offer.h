// SPDX-License-Identifier: Apache-2.0
//
// From what the driver has to what the kubelet is offered. Pure: the same
// inventory and policy give the same catalog.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "gpu/inventory.h"
#include "sharing/catalog.h"
#include "sharing/policy.h"

namespace tranche {

Catalog offer(const Inventory& inventory, const SharingPolicy& policy);

// Every device that the driver has now, offered or not: MIG devices in the
// place of a GPU that is cut into them. By GPU index, then MIG index.
std::vector<OfferedDevice> node_devices(const Inventory& inventory);

// GPUs that are kept back, by configuration or for what they are: uuids.
std::set<std::string> excluded_gpus(const Inventory& inventory, const SharingPolicy& policy);

}  // namespace tranche
