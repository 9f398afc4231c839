// SPDX-License-Identifier: Apache-2.0
#include "apps/held_devices.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

namespace tranche {
namespace {

// Of each device, by uuid; only where it is held through MPS.
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

LargestHeld largest_held(const Catalog& catalog, const Ledger& ledger) {
  LargestHeld largest;
  for (const Holding& holding : ledger.holdings) {
    for (const auto& [uuid, held] : bytes_held(catalog, holding)) {
      largest[uuid] = std::max(largest[uuid], held);
    }
  }
  return largest;
}

}  // namespace tranche
