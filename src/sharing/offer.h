// SPDX-License-Identifier: Apache-2.0
//
// From what the driver has to what the kubelet is offered. Pure: the same
// inventory and policy give the same catalog.
#pragma once

#include "gpu/inventory.h"
#include "sharing/catalog.h"
#include "sharing/policy.h"

namespace tranche {

Catalog offer(const Inventory& inventory, const SharingPolicy& policy);

}  // namespace tranche
