// SPDX-License-Identifier: Apache-2.0
//
// What the ledger says of each device, for MPS. Pure.
#pragma once

#include "ledger/ledger.h"
#include "mps/client_limits.h"
#include "mps/plan.h"
#include "sharing/catalog.h"

namespace tranche {

// How many containers hold something of each device through MPS.
Holders holders_of(const Catalog& catalog, const Ledger& ledger);

// Bytes of the largest share that one of them has, by uuid.
LargestHeld largest_held(const Catalog& catalog, const Ledger& ledger);

}  // namespace tranche
