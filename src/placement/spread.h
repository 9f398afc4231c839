// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "placement/candidates.h"
#include "sharing/catalog.h"

namespace tranche {

// Chooses replicas and MIG devices, one after the other, each from the device
// that has the fewest shares taken (distributed, spread) or the most (packed);
// on a tie by the real GPU behind it in the same sense. With spread, and where
// the terms want different GPUs, a GPU that the container has nothing of yet
// comes before all others. A share chosen counts as taken for the next. Linear
// in the candidates. Gives fewer than needed where there are no more.
std::vector<std::string_view> pick_shared(const Offer& offer, const Choice& choice);

}  // namespace tranche
