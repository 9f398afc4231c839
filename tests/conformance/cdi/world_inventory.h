// SPDX-License-Identifier: Apache-2.0
//
// What we would know of a simulated node, told by the simulation itself: the
// comparison is of specifications, not of how the driver is asked.
#pragma once

#include "core/gpu/inventory.h"
#include "testbed/world/world.h"

namespace tranche::tests {

Inventory inventory_of(const sim::World& world);

}  // namespace tranche::tests
