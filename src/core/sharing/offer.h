// SPDX-License-Identifier: Apache-2.0
//
// Computes the catalog from the inventory and the policy. Pure: the same input gives the
// same catalog.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/gpu/inventory.h"
#include "core/sharing/catalog.h"
#include "core/sharing/policy.h"

namespace tranche::core {

Catalog offer(const Inventory& inventory, const SharingPolicy& policy);

// A note for each pattern of tranche.excludeDevices and resources that matches no model or MIG
// profile of this node. Not among the catalog's notes, because a file for a whole cluster has
// patterns for GPUs of other nodes.
std::vector<std::string> unmatched_patterns(const Inventory& inventory,
                                            const SharingPolicy& policy);

// Every device that the driver has now, offered or not. A partitioned GPU is replaced by
// its MIG devices. By GPU index, then MIG index.
std::vector<OfferedDevice> node_devices(const Inventory& inventory);

// uuids of GPUs that are excluded, by the configuration or for another reason.
std::set<std::string> excluded_gpus(const Inventory& inventory, const SharingPolicy& policy);

// The name of a device that no row of tranche.policies and no sharing renames. Empty: a MIG
// device that has none, as a part of its GPU instance.
ResourceName usual_name(const SharingPolicy& policy, const Gpu& gpu);
std::optional<ResourceName> usual_name(const SharingPolicy& policy, const MigDevice& mig);

}  // namespace tranche::core
