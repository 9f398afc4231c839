// SPDX-License-Identifier: Apache-2.0
//
// What the ledger says of each device, for MPS. Pure.
#pragma once

#include <string>
#include <vector>

#include "core/ledger/ledger.h"
#include "core/mps/client_limits.h"
#include "core/mps/mps_plan.h"
#include "core/sharing/catalog.h"

namespace tranche::core {

// How many containers hold something of each device through MPS.
Holders holders_of(const Catalog& catalog, const Ledger& ledger);

// Bytes of the largest share that one of them has, by uuid.
LargestHeld largest_held(const Catalog& catalog, const Ledger& ledger);

// Whether nobody holds anything of these devices, by any name. What is held by a name
// that is no longer offered may be of any device.
bool is_unheld(const std::vector<std::string>& devices, const Catalog& catalog,
               const Ledger& ledger);

}  // namespace tranche::core
