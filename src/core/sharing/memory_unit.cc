// SPDX-License-Identifier: Apache-2.0
#include "core/sharing/memory_unit.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

namespace tranche::core {

void cut_into_units(Offer& offer, std::uint64_t unit_bytes) {
  offer.terms.unit_bytes = unit_bytes;
  for (OfferedDevice& device : offer.devices) {
    const std::uint64_t units = device.memory_bytes / unit_bytes;
    device.replicas =
        static_cast<unsigned>(std::min<std::uint64_t>(units, std::numeric_limits<unsigned>::max()));
    device.share_bytes = unit_bytes;
  }
}

bool fits_in_units(const Offer& offer) {
  return list_bytes(offer) <= kKubeletListLimit &&
         std::ranges::all_of(offer.devices, [](const OfferedDevice& device) {
           return device.shares() <= kMostUnitsOfADevice;
         });
}

std::uint64_t smallest_unit(Offer offer) {
  std::uint64_t unit = kMebibyte;
  for (cut_into_units(offer, unit); !fits_in_units(offer); cut_into_units(offer, unit)) unit *= 2;
  return unit;
}

SharingPolicy with_kept_units(SharingPolicy policy, const KeptUnits& kept) {
  for (ResourcePolicy& row : policy.policies) {
    const auto found = kept.find(row.resource.text);
    if (!row.unit && found != kept.end()) row.kept_unit = found->second;
  }
  return policy;
}

KeptUnits units_to_keep(const SharingPolicy& policy, const Catalog& catalog,
                        const KeptUnits& kept) {
  KeptUnits units;
  for (const ResourcePolicy& row : policy.policies) {
    if (row.terms.form != ShareForm::kMemory || row.unit) continue;
    const auto offer = std::ranges::find(catalog.offers, row.resource, &Offer::name);
    if (offer != catalog.offers.end()) {
      units[row.resource.text] = offer->terms.unit_bytes;
    } else if (const auto before = kept.find(row.resource.text); before != kept.end()) {
      units.insert(*before);
    }
  }
  return units;
}

std::string unit_text(std::uint64_t bytes) {
  const std::uint64_t mib = bytes / kMebibyte;
  return mib % 1024 == 0 ? fmt::format("{}GiB", mib / 1024) : fmt::format("{}MiB", mib);
}

}  // namespace tranche::core
