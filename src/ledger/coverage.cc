// SPDX-License-Identifier: Apache-2.0
#include "ledger/coverage.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "base/text.h"
#include "sharing/memory_unit.h"
#include "sharing/share_id.h"

namespace tranche {
namespace {

// So many holders are named in a message; the rest are counted.
constexpr std::size_t kMostNamed = 3;

std::string named(const std::vector<std::string>& holders) {
  const std::size_t shown = std::min(holders.size(), kMostNamed);
  std::string text = join({holders.begin(), holders.begin() + static_cast<long>(shown)}, ", ");
  if (holders.size() > shown) text += " and " + std::to_string(holders.size() - shown) + " more";
  return text;
}

std::string mebibytes(std::uint64_t bytes) { return std::to_string(bytes / kMebibyte) + " MiB"; }

// How many shares more can be given where `held` of them are and `bytes` of
// the memory are covered, by whomever.
unsigned more_shares(const OfferedDevice& device, std::size_t held, std::uint64_t bytes) {
  const unsigned rest =
      device.shares() - static_cast<unsigned>(std::min<std::size_t>(held, device.shares()));
  if (!device.replicas || device.share_bytes == 0 || device.memory_bytes == 0) return rest;
  const std::uint64_t left = device.memory_bytes - std::min(bytes, device.memory_bytes);
  return static_cast<unsigned>(std::min<std::uint64_t>(rest, left / device.share_bytes));
}

std::set<std::string_view> devices_with_counted_memory(const Catalog& catalog) {
  std::set<std::string_view> counted;
  for (const Offer& offer : catalog.offers) {
    for (const OfferedDevice& device : offer.devices) {
      if (device.replicas && device.share_bytes > 0) counted.insert(device.uuid);
    }
  }
  return counted;
}

}  // namespace

OfferRoom empty_room(const Offer& offer) {
  OfferRoom room;
  for (const OfferedDevice& device : offer.devices) room.push_back({{}, more_shares(device, 0, 0)});
  return room;
}

OfferRoom shown(const Offer& offer, OfferRoom room) {
  if (offer.terms.shown != ShownSize::kLargestBlock) return room;
  std::size_t largest = room.size();
  for (std::size_t i = 0; i < room.size(); ++i) {
    if (!offer.devices[i].health.ok()) continue;
    if (largest == room.size() || room[i].free > room[largest].free) largest = i;
  }
  for (std::size_t i = 0; i < room.size(); ++i) {
    if (i != largest) room[i].free = 0;
  }
  return room;
}

Coverage::Coverage(const Catalog& catalog, const Ledger& ledger) {
  const std::set<std::string_view> counted = devices_with_counted_memory(catalog);
  for (const Holding& holding : ledger.holdings) {
    const auto offer =
        std::ranges::find(catalog.offers, holding.resource,
                          [](const Offer& o) -> const std::string& { return o.name.text; });
    const bool is_offered = offer != catalog.offers.end();
    std::set<Hold*> told;  // each holder once a device
    for (const std::string& id : holding.shares) {
      const auto parsed = parse_share_id(id);
      if (!parsed) continue;  // no id of a GPU: another plugin's
      auto device = devices_.find(parsed->device);
      if (device == devices_.end()) {
        device = devices_.emplace(std::string(parsed->device), Holds{}).first;
      }
      Hold& hold = device->second[holding.resource];
      const LocatedShare share = is_offered ? offer->locate(id) : LocatedShare{};
      if (share.device != nullptr) {
        hold.whole |= !share.device->replicas;
        hold.shares.push_back(share.replica);
        hold.bytes += share.device->share_bytes;
      } else {
        hold.is_leftover = true;
        hold.whole |= !parsed->replica || counted.contains(parsed->device);
      }
      if (told.insert(&hold).second) hold.holders.push_back(to_string(holding.holder));
    }
  }
  for (auto& [uuid, holds] : devices_) {
    for (auto& [resource, hold] : holds) std::ranges::sort(hold.shares);
  }
}

OfferRoom Coverage::room(const Offer& offer) const { return room(offer, {}); }

OfferRoom Coverage::room(const Offer& offer, const std::vector<std::string_view>& free) const {
  std::map<const OfferedDevice*, std::set<unsigned>> numbers;
  for (const std::string_view id : free) {
    const LocatedShare share = offer.locate(id);
    if (share.device != nullptr) numbers[share.device].insert(share.replica);
  }
  OfferRoom room;
  for (const OfferedDevice& device : offer.devices) {
    room.push_back(room_of(offer, device, numbers[&device]));
  }
  return room;
}

DeviceRoom Coverage::room_of(const Offer& offer, const OfferedDevice& device,
                             const std::set<unsigned>& free) const {
  DeviceRoom room;
  const auto holds = devices_.find(device.uuid);
  if (holds == devices_.end()) return {{}, more_shares(device, 0, 0)};
  std::uint64_t bytes = 0;
  bool is_whole = false;
  bool is_shared = false;
  for (const auto& [resource, hold] : holds->second) {
    if (resource != offer.name.text) {
      is_whole |= hold.whole;
      is_shared = true;
      bytes += hold.bytes;
      continue;
    }
    std::ranges::remove_copy_if(hold.shares, std::back_inserter(room.held),
                                [&](unsigned number) { return free.contains(number); });
    bytes += room.held.size() * device.share_bytes;
    is_whole |= hold.whole && device.replicas;
    is_shared |= hold.is_leftover;
  }
  // A whole device is given when nobody else has any of it.
  const bool is_taken = is_whole || (!device.replicas && is_shared);
  room.free = is_taken ? 0 : more_shares(device, room.held.size(), bytes);
  return room;
}

Status Coverage::admits(const Offer& offer, const std::vector<std::string_view>& shares) const {
  std::map<const OfferedDevice*, std::set<unsigned>> wanted;
  for (const std::string_view id : shares) {
    const LocatedShare share = offer.locate(id);
    if (share.device != nullptr) wanted[share.device].insert(share.replica);
  }
  for (const auto& wish : wanted) {
    const OfferedDevice* device = wish.first;
    const std::set<unsigned>& numbers = wish.second;
    const auto holds = devices_.find(device->uuid);
    if (holds == devices_.end()) continue;
    const auto refuse = [&](const std::string& resource, const Hold& in_the_way,
                            const std::string& how) {
      return Error{ErrorCode::kUnavailable, "GPU " + device->index() + " (" + device->uuid +
                                                ") cannot be given as " + offer.name.text +
                                                " now: " + how + " is held as " + resource +
                                                " by " + named(in_the_way.holders)};
    };
    const bool is_shared = std::ranges::any_of(
        holds->second, [&](const auto& hold) { return hold.first != offer.name.text; });
    std::uint64_t bytes = 0;
    const Hold* largest = nullptr;
    const std::string* largest_name = nullptr;
    for (const auto& [resource, hold] : holds->second) {
      const bool own = resource == offer.name.text;
      const auto again = static_cast<std::size_t>(std::ranges::count_if(
          hold.shares, [&](unsigned n) { return own && numbers.contains(n); }));
      const bool is_more = hold.shares.size() > again || hold.is_leftover;
      if (!is_more) continue;
      if (hold.whole) return refuse(resource, hold, "all of it");
      if (!device->replicas) return refuse(resource, hold, "a part of it");
      bytes += hold.bytes - again * (own ? device->share_bytes : 0);
      if (largest == nullptr || hold.bytes > largest->bytes) {
        largest = &hold;
        largest_name = &resource;
      }
    }
    const std::uint64_t asked = numbers.size() * device->share_bytes;
    if (!is_shared || device->memory_bytes == 0 || device->share_bytes == 0) continue;
    if (bytes + asked > device->memory_bytes) {
      return refuse(*largest_name, *largest,
                    "of its " + mebibytes(device->memory_bytes) + ", " + mebibytes(bytes) +
                        " are taken and " + mebibytes(asked) + " are asked for; most");
    }
  }
  return Done{};
}

bool Coverage::has_leftovers(const Catalog& catalog) const {
  return std::ranges::any_of(catalog.offers, [&](const Offer& offer) {
    return std::ranges::any_of(offer.devices, [&](const OfferedDevice& device) {
      const auto holds = devices_.find(device.uuid);
      return holds != devices_.end() && std::ranges::any_of(holds->second, [](const auto& hold) {
               return hold.second.is_leftover;
             });
    });
  });
}

}  // namespace tranche
