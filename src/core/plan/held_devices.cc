// SPDX-License-Identifier: Apache-2.0
#include "core/plan/held_devices.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

namespace tranche::core {
namespace {

// By uuid, for devices held through MPS.
std::map<std::string, std::uint64_t> bytes_held(const Catalog& catalog, const Holding& holding) {
  std::map<std::string, std::uint64_t> bytes;
  const auto offer =
      std::ranges::find(catalog.offers, ResourceName(holding.resource), &Offer::name);
  if (offer == catalog.offers.end() || !uses_mps(offer->terms)) return bytes;
  for (const std::string& id : holding.shares) {
    if (const OfferedDevice* device = offer->find(id)) bytes[device->uuid] += device->share_bytes;
  }
  return bytes;
}

}  // namespace

Holders holders_of(const Catalog& catalog, const Ledger& ledger) {
  Holders holders;
  for (const Holding& holding : ledger.holdings) {
    for (const auto& [uuid, bytes] : bytes_held(catalog, holding)) ++holders[uuid];
  }
  return holders;
}

bool is_unheld(const std::vector<std::string>& devices, const Catalog& catalog,
               const Ledger& ledger) {
  const auto is_elsewhere = [&](const Offer& offer, const std::string& id) {
    const OfferedDevice* device = offer.find(id);
    if (device == nullptr) return false;
    return std::ranges::none_of(devices, [&](const std::string& uuid) {
      return uuid == device->uuid || uuid == device->gpu.text;
    });
  };
  return std::ranges::all_of(ledger.holdings, [&](const Holding& holding) {
    const auto offer =
        std::ranges::find(catalog.offers, ResourceName(holding.resource), &Offer::name);
    return offer != catalog.offers.end() &&
           std::ranges::all_of(holding.shares,
                               [&](const std::string& id) { return is_elsewhere(*offer, id); });
  });
}

LargestHeld largest_held(const Catalog& catalog, const Ledger& ledger) {
  LargestHeld largest;
  for (const Holding& holding : ledger.holdings) {
    for (const auto& [uuid, held] : bytes_held(catalog, holding)) {
      largest[uuid] = std::max(largest[uuid], held);
    }
  }
  return largest;
}

}  // namespace tranche::core
