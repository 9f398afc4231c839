// SPDX-License-Identifier: Apache-2.0
#include "core/features/device_sharing.h"

#include <algorithm>
#include <cstddef>

namespace tranche::core {
namespace {

bool is_shared(const Offer& offer, const OfferedDevice& device) {
  return offer.terms.form == ShareForm::kMemory || device.shares() > 1;
}

// The level that the policy demands counts even where the node cannot support it now, because
// the shares are offered as such.
bool uses_mps_level(const Terms& terms) {
  const Enforcement level = terms.demanded.value_or(terms.enforcement);
  return level == Enforcement::kMps || level == Enforcement::kMpsExclusive;
}

std::size_t count_in(const Offer& offer, const std::set<std::string>& devices) {
  return static_cast<std::size_t>(std::ranges::count_if(
      offer.devices, [&](const OfferedDevice& device) { return devices.contains(device.uuid); }));
}

const Offer* main_offer(const std::set<std::string>& devices,
                        const std::optional<ResourceName>& usual_name, const Catalog& catalog) {
  const Offer* best = nullptr;
  std::size_t most = 0;
  for (const Offer& offer : catalog.offers) {  // sorted by name
    const std::size_t count = count_in(offer, devices);
    if (count > 0 && offer.name == usual_name) return &offer;
    if (count <= most) continue;
    best = &offer;
    most = count;
  }
  return best;
}

}  // namespace

bool is_shared_by_mps(const Offer& offer) {
  return uses_mps_level(offer.terms) &&
         std::ranges::any_of(offer.devices,
                             [&](const OfferedDevice& device) { return is_shared(offer, device); });
}

DeviceSharing sharing_of(const std::set<std::string>& devices,
                         const std::optional<ResourceName>& usual_name, const Catalog& catalog) {
  DeviceSharing sharing;
  const Offer* offer = main_offer(devices, usual_name, catalog);
  if (offer == nullptr) return sharing;
  std::set<unsigned> numbers;
  bool any_shared = false;
  for (const OfferedDevice& device : offer->devices) {
    if (!devices.contains(device.uuid)) continue;
    numbers.insert(device.shares());
    any_shared = any_shared || is_shared(*offer, device);
  }
  const bool is_counted = offer->terms.form != ShareForm::kMemory && numbers.size() == 1;
  sharing.replicas = is_counted ? std::optional(*numbers.begin()) : std::nullopt;
  if (any_shared) sharing.strategy = uses_mps_level(offer->terms) ? "mps" : "time-slicing";
  sharing.is_shared_under_usual_name = any_shared && offer->name == usual_name;
  return sharing;
}

}  // namespace tranche::core
