// SPDX-License-Identifier: Apache-2.0
#include "core/ledger/holdings.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "core/ledger/coverage.h"
#include "core/ledger/device_names.h"

namespace tranche::core {
namespace {

const Offer* offer_of(const Catalog& catalog, const std::string& resource) {
  const auto found = std::ranges::find(catalog.offers, ResourceName(resource), &Offer::name);
  return found == catalog.offers.end() ? nullptr : &*found;
}

// The size with which the share was allocated; else the size that is offered.
std::uint64_t bytes_of(const std::string& id, const Holding& holding, const Ledger& ledger,
                       const Offer* offer) {
  const auto granted = ledger.sizes.find(holding.resource);
  if (granted != ledger.sizes.end()) {
    const auto size = granted->second.find(id);
    if (size != granted->second.end()) return size->second;
  }
  const OfferedDevice* device = offer != nullptr ? offer->find(id) : nullptr;
  return device != nullptr && device->replicas ? device->share_bytes : 0;
}

bool may_be_a_gpu(std::string_view uuid) {
  return uuid.starts_with("GPU-") || uuid.starts_with("MIG-");
}

}  // namespace

std::vector<PlacedHolding> placed_holdings(const Catalog& catalog, const Ledger& ledger) {
  const DeviceNames names(catalog);
  std::vector<PlacedHolding> placed;
  for (const Holding& holding : ledger.holdings) {
    const Offer* offer = offer_of(catalog, holding.resource);
    std::map<std::string, DeviceHolding> devices;
    for (const std::string& id : holding.shares) {
      const auto named = names.device_of(id);
      if (!named) continue;
      const std::string_view gpu = names.gpu_of(named->uuid);
      if (gpu.empty() && offer == nullptr && !may_be_a_gpu(named->uuid)) continue;
      DeviceHolding& device = devices[std::string(named->uuid)];
      device.device = named->uuid;
      device.gpu = gpu;
      device.shares.push_back(id);
      device.bytes += bytes_of(id, holding, ledger, offer);
    }
    if (devices.empty()) continue;
    PlacedHolding entry{.holding = holding};
    for (auto& [uuid, device] : devices) entry.devices.push_back(std::move(device));
    placed.push_back(std::move(entry));
  }
  return placed;
}

std::vector<WithheldShares> withheld_shares(const Catalog& catalog, const Ledger& ledger) {
  const Coverage coverage(catalog, ledger);
  std::vector<WithheldShares> withheld;
  for (const Offer& offer : catalog.offers) {
    const OfferRoom room = coverage.room(offer);
    const OfferRoom listed = shown(offer, room);
    for (std::size_t i = 0; i < offer.devices.size(); ++i) {
      const OfferedDevice& device = offer.devices[i];
      if (!device.health.ok()) continue;
      const auto held = static_cast<unsigned>(room[i].held.size());
      const auto add = [&](unsigned shares, std::string reason) {
        withheld.push_back({.resource = offer.name.text,
                            .device = device.uuid,
                            .index = device.index(),
                            .gpu = device.gpu.text,
                            .shares = shares,
                            .reason = std::move(reason)});
      };
      if (held + room[i].free < device.shares()) {
        add(device.shares() - held - room[i].free, coverage.withheld_reason(offer, device));
      }
      if (listed[i].free < room[i].free) {
        add(room[i].free - listed[i].free,
            "the resource offers its largest free block only, which is on another GPU");
      }
    }
  }
  return withheld;
}

std::string to_string(const WithheldShares& withheld) {
  const bool is_one = withheld.shares == 1;
  return fmt::format("{} {} of {} on GPU {} {} not offered: {}", withheld.shares,
                     is_one ? "share" : "shares", withheld.resource, withheld.index,
                     is_one ? "is" : "are", withheld.reason);
}

}  // namespace tranche::core
