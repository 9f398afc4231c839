// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "core/placement/candidates.h"

namespace tranche::core {

// The candidates of each device of the offer, lowest number first, at most as many as there is
// room for.
std::vector<std::vector<std::string_view>> free_shares(std::size_t devices, const Choice& choice);

}  // namespace tranche::core
