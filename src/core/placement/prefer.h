// SPDX-License-Identifier: Apache-2.0
//
// Which of the shares that are free a container should get. Pure, and never a
// failure: where we cannot choose, the answer is what the kubelet offered, and
// it fills up what is missing itself.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "gpu/topology.h"
#include "ledger/coverage.h"
#include "sharing/catalog.h"

namespace tranche {

struct Wish {
  std::vector<std::string_view> available;     // free share ids, in no order
  std::vector<std::string_view> must_include;  // of these, already decided
  std::size_t size = 0;                        // how many in all
};

// Whole GPUs are chosen by how near they are to each other; replicas and MIG
// devices by the terms' placement; what must come from one device, from the one
// where it fits best. Views in the answer point into the wish's texts.
std::vector<std::string_view> prefer(const Offer& offer, const OfferRoom& room,
                                     const Topology& topology, const Wish& wish);

}  // namespace tranche
