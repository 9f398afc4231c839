// SPDX-License-Identifier: Apache-2.0
//
// Allocations per device, for MPS. Pure.
#pragma once

#include <string>
#include <vector>

#include "core/ledger/ledger.h"
#include "core/mps/client_limits.h"
#include "core/mps/mps_plan.h"
#include "core/sharing/catalog.h"

namespace tranche::core {

// The number of containers with shares of each device through MPS.
Holders holders_of(const Catalog& catalog, const Ledger& ledger);

// Bytes of each device's largest allocated share, by uuid.
LargestHeld largest_held(const Catalog& catalog, const Ledger& ledger);

// Whether no container has a share of these devices under any resource name. A share of a
// resource that is no longer offered may belong to any device.
bool is_unheld(const std::vector<std::string>& devices, const Catalog& catalog,
               const Ledger& ledger);

}  // namespace tranche::core
