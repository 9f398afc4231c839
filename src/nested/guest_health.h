// SPDX-License-Identifier: Apache-2.0
//
// How a device is that a node pod was granted, as that pod is to be told. Pure.
#pragma once

#include <string>

#include "gpu/inventory.h"
#include "nested/nested_grant.h"
#include "sharing/catalog.h"

namespace tranche {

// As it is offered, with all that is known against it; where it is not offered any
// more, as the driver has it. What nobody knows is not healthy.
Health guest_health(const Catalog& catalog, const Inventory& inventory, const std::string& resource,
                    const NestedDevice& device);

}  // namespace tranche
