// SPDX-License-Identifier: Apache-2.0
//
// The smallest possible unit of memory. Each unit is a device for the kubelet. All units of a
// resource must fit one message, and all units of a container are repeated in its pod's status,
// which must fit into etcd.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/sharing/catalog.h"
#include "core/sharing/policy.h"

namespace tranche::core {

inline constexpr std::uint64_t kMebibyte = 1ULL << 20;
// A container can have all units of one device. With about 9,000 ids a pod's status no
// longer fits into etcd; this stays well below.
inline constexpr std::uint64_t kMostUnitsOfADevice = 4096;

// Divides the offer's devices into units of this size.
void cut_into_units(Offer& offer, std::uint64_t unit_bytes);

// Whether the kubelet and etcd accept the offer with these units.
bool fits_in_units(const Offer& offer);

// The smallest unit, a power of two in MiB, that works for these devices.
std::uint64_t smallest_unit(Offer offer);

// The units that the agent chose, by resource. A number in a pod's manifest, and an id that
// a pod holds, must not mean less memory because a GPU is gone.
using KeptUnits = std::map<std::string, std::uint64_t>;
SharingPolicy with_kept_units(SharingPolicy policy, const KeptUnits& kept);
// The units to store when this is offered.
KeptUnits units_to_keep(const SharingPolicy& policy, const Catalog& catalog, const KeptUnits& kept);

// "256MiB", "1GiB": as it is written in a configuration.
std::string unit_text(std::uint64_t bytes);

}  // namespace tranche::core
