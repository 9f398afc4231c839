// SPDX-License-Identifier: Apache-2.0
//
// How small a unit of memory may be. Each unit is a device at the kubelet: all
// of a resource's must fit one message, and all that one container can hold
// are repeated in its pod's status, which must fit the cluster's store.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "sharing/catalog.h"
#include "sharing/policy.h"

namespace tranche {

inline constexpr std::uint64_t kMebibyte = 1ULL << 20;
// A container can have all units of one device. Near 9,000 ids in one pod its
// status no longer fits the store; this stays well below.
inline constexpr std::uint64_t kMostUnitsOfADevice = 4096;

// Cuts the offer's devices into units of this size.
void cut_into_units(Offer& offer, std::uint64_t unit_bytes);

// Whether the kubelet and the store can take the offer as it is cut.
bool fits_in_units(const Offer& offer);

// The smallest power of two of mebibytes that can be taken for these devices.
std::uint64_t smallest_unit(Offer offer);

// The units that were chosen by us, by resource. A number in a pod's manifest, and
// an id that a pod holds, must not come to mean less because a GPU is gone.
using KeptUnits = std::map<std::string, std::uint64_t>;
SharingPolicy with_kept_units(SharingPolicy policy, const KeptUnits& kept);
// What is to be kept when this is offered.
KeptUnits units_to_keep(const SharingPolicy& policy, const Catalog& catalog, const KeptUnits& kept);

// "256MiB", "1GiB": as it is written in a configuration.
std::string unit_text(std::uint64_t bytes);

}  // namespace tranche
