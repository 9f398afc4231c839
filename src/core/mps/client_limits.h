// SPDX-License-Identifier: Apache-2.0
//
// Limits of MPS itself: the number of clients, and the smallest useful share. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/gpu/inventory.h"
#include "core/sharing/catalog.h"

namespace tranche::core {

// The maximum number of client processes of one device: 16 before Volta; 48 since; 60 from CUDA
// 13.1. `cuda_version` is the driver's, "13.0"; if it is not known, the smaller number counts.
unsigned mps_client_limit(std::string_view cuda_version, unsigned compute_major);

// The number of containers with shares of each device, by uuid.
using Holders = std::map<std::string, unsigned>;

// Notes about resources under MPS with more shares than MPS takes clients, with shares that
// are too small, or with as many containers as MPS takes clients.
std::vector<std::string> mps_warnings(const Catalog& catalog, const Inventory& inventory,
                                      const Holders& holders);

// 100 divided by `shares` for CUDA_MPS_ACTIVE_THREAD_PERCENTAGE and its like:
// "33.333", at most three digits behind the point, never 0 (which is ignored).
std::string nvidia_thread_percentage(unsigned shares);

}  // namespace tranche::core
