// SPDX-License-Identifier: Apache-2.0
//
// The health of a device that was granted to a node pod, as reported to that pod. Pure.
#pragma once

#include <string>

#include "core/gpu/inventory.h"
#include "core/nested/nested_grant.h"
#include "core/sharing/catalog.h"

namespace tranche::core {

// Its health as offered, with all known reasons; if it is no longer offered, its health at
// the driver. Unknown is not healthy.
Health guest_health(const Catalog& catalog, const Inventory& inventory, const std::string& resource,
                    const NestedDevice& device);

}  // namespace tranche::core
