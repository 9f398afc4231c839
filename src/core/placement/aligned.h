// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "core/gpu/topology.h"
#include "core/placement/candidates.h"
#include "core/sharing/catalog.h"

namespace tranche::core {

// Chooses whole GPUs that are near each other (NVLink, NVSwitch, PCIe, NUMA). Among equally
// near sets it takes the one that leaves the free GPUs nearest to each other, so a single
// GPU comes from a pair that is already broken. Gives fewer than needed where there are no
// more.
std::vector<std::string_view> pick_aligned(const Offer& offer, const Topology& topology,
                                           Choice choice);

// The nearness of two GPUs; more is nearer. A direct NVLink counts more than any PCI path, and
// each further link as much again.
unsigned nearness(const GpuLink& link, std::optional<unsigned> numa_a,
                  std::optional<unsigned> numa_b);

}  // namespace tranche::core
