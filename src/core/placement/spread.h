// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "core/placement/candidates.h"
#include "core/sharing/catalog.h"

namespace tranche::core {

// Chooses replicas and MIG devices, one after the other, each from the device that has the
// fewest shares taken (distributed, spread) or the most (packed); on a tie the physical GPU
// decides in the same way. With spread, and where the terms want different GPUs, a GPU of
// which the container has no share yet comes before all others. A share chosen counts as
// taken for the next. Linear in the candidates. Gives fewer than needed where there are no
// more.
std::vector<std::string_view> pick_shared(const Offer& offer, const Choice& choice);

}  // namespace tranche::core
