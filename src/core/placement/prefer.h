// SPDX-License-Identifier: Apache-2.0
//
// Chooses the free shares for a container. Pure. It never fails: if we cannot choose, the answer
// is what the kubelet offered, and the kubelet adds what is missing.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "core/gpu/topology.h"
#include "core/ledger/coverage.h"
#include "core/sharing/catalog.h"

namespace tranche::core {

struct AllocationRequest {
  std::vector<std::string_view> available;     // free share ids, in no order
  std::vector<std::string_view> must_include;  // of these, already decided
  std::size_t size = 0;                        // how many in all
};

// Chooses whole GPUs by nearness; replicas and MIG devices by the terms' placement; shares that
// must come from one device, from the best-fitting one. Views in the answer point into the
// request's texts.
std::vector<std::string_view> prefer(const Offer& offer, const OfferRoom& room,
                                     const Topology& topology, const AllocationRequest& request);

}  // namespace tranche::core
