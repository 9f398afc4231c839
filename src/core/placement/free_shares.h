// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "core/placement/candidates.h"

namespace tranche::core {

// The candidates of each device, lowest number first, and no more than there
// is room for. One entry a device of the offer.
std::vector<std::vector<std::string_view>> free_shares(std::size_t devices, const Choice& choice);

}  // namespace tranche::core
