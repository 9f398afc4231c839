// SPDX-License-Identifier: Apache-2.0
//
// The node labels of NVIDIA's GPU feature discovery. Pure: the same node has the same labels,
// also if its GPUs are of several models. docs/node-labels.md explains each, and where they
// differ from NVIDIA's.
#pragma once

#include "core/features/machine_facts.h"
#include "core/features/node_labels.h"
#include "core/gpu/inventory.h"
#include "core/sharing/catalog.h"
#include "core/sharing/policy.h"

namespace tranche::core {

// `catalog` is the offer of this inventory with this policy, with enforcement decided.
NodeLabels feature_labels(const Inventory& inventory, const Catalog& catalog,
                          const SharingPolicy& policy, const MachineFacts& machine);

}  // namespace tranche::core
