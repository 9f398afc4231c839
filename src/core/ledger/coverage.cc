// SPDX-License-Identifier: Apache-2.0
#include "core/ledger/coverage.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "core/sharing/memory_unit.h"

namespace tranche::core {
namespace {

// A message names this many holders; the rest are counted.
constexpr std::size_t kMostNamed = 3;

std::string named(const std::vector<std::string>& holders) {
  const std::size_t shown = std::min(holders.size(), kMostNamed);
  std::string text = join({holders.begin(), holders.begin() + static_cast<long>(shown)}, ", ");
  if (holders.size() > shown) text += fmt::format(" and {} more", holders.size() - shown);
  return text;
}

std::string mebibytes(std::uint64_t bytes) { return fmt::format("{} MiB", bytes / kMebibyte); }

// How many more shares can be allocated where containers hold `held` of them and `bytes` of
// the memory are covered.
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

OfferedSizes offered_sizes(const Catalog& catalog) {
  OfferedSizes sizes;
  for (const Offer& offer : catalog.offers) {
    for (const OfferedDevice& device : offer.devices) {
      if (device.replicas) sizes[offer.name.text].emplace(device.uuid, device.share_bytes);
    }
  }
  return sizes;
}

Coverage::Coverage(const Catalog& catalog, const Ledger& ledger)
    : names_(catalog),
      gpu_of_slice_(catalog.gpu_of_slice),
      are_slices_unknown_(catalog.slices_are_unknown) {
  const std::set<std::string_view> counted = devices_with_counted_memory(catalog);
  for (const Holding& holding : ledger.holdings) {
    const auto offer =
        std::ranges::find(catalog.offers, holding.resource,
                          [](const Offer& o) -> const std::string& { return o.name.text; });
    add(offer == catalog.offers.end() ? nullptr : &*offer, holding, ledger.sizes, counted);
  }
}

void Coverage::add(const Offer* offer, const Holding& holding, const GrantedSizes& sizes,
                   const std::set<std::string_view>& counted) {
  const auto granted = sizes.find(holding.resource);
  std::set<Hold*> named;  // each holder once a device
  for (const std::string& id : holding.shares) {
    const auto named_device = names_.device_of(id);
    if (!named_device) continue;  // not the id of a GPU: another plugin's
    const auto [uuid, is_known, replica] = *named_device;
    if (!is_known && are_slices_unknown_ && id.starts_with("MIG-")) unplaced_slice_ = uuid;
    auto device = devices_.find(uuid);
    if (device == devices_.end()) {
      device = devices_.emplace(std::string(uuid), Holds{}).first;
    }
    Hold& hold = device->second[holding.resource];
    if (named.insert(&hold).second) hold.holders.push_back(to_string(holding.holder));
    std::optional<std::uint64_t> bytes;
    if (granted != sizes.end()) {
      const auto size = granted->second.find(id);
      if (size != granted->second.end()) bytes = size->second;
    }
    const bool is_counted = counted.contains(uuid);
    const LocatedShare share = offer != nullptr ? offer->locate(id) : LocatedShare{};
    if (share.device != nullptr && !share.device->replicas) {
      hold.whole = true;
      hold.shares[share.replica] = {};
    } else if (share.device != nullptr) {
      const std::uint64_t size = bytes.value_or(share.device->share_bytes);
      hold.shares[share.replica] = {size, size == 0 && is_counted};
    } else {
      hold.has_leftovers = true;
      hold.leftover_bytes += bytes.value_or(0);
      const bool is_numbered = is_known && replica;
      hold.leftovers_are_whole |= !is_numbered || (is_counted && bytes.value_or(0) == 0);
    }
  }
}

Coverage::Rest Coverage::rest_of(const Hold& hold, const std::set<unsigned>& aside) {
  Rest rest{.bytes = hold.leftover_bytes,
            .is_whole = hold.leftovers_are_whole,
            .is_anything = hold.has_leftovers};
  for (const auto& [number, share] : hold.shares) {
    if (aside.contains(number)) continue;
    rest.shares.push_back(number);
    rest.bytes += share.bytes;
    rest.is_whole |= hold.whole || share.is_unknown;
    rest.is_anything = true;
  }
  return rest;
}

const std::pair<const std::string, Coverage::Holds>* Coverage::held_relative(
    const OfferedDevice& device) const {
  if (!unplaced_slice_.empty()) return &*devices_.find(unplaced_slice_);
  if (device.is_mig()) {
    const auto gpu = devices_.find(device.gpu.text);
    return gpu == devices_.end() ? nullptr : &*gpu;
  }
  for (const auto& [slice, gpu] : gpu_of_slice_) {
    if (gpu != device.uuid) continue;
    const auto held = devices_.find(slice);
    if (held != devices_.end()) return &*held;
  }
  return nullptr;
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
  std::uint64_t bytes = 0;
  bool is_whole = held_relative(device) != nullptr;
  bool is_shared = false;
  const auto holds = devices_.find(device.uuid);
  if (holds != devices_.end()) {
    for (const auto& [resource, hold] : holds->second) {
      const bool own = resource == offer.name.text;
      Rest rest = rest_of(hold, own ? free : std::set<unsigned>{});
      bytes += rest.bytes;
      if (own) {
        room.held = std::move(rest.shares);
        is_whole |= rest.is_whole && device.replicas;
        is_shared |= hold.has_leftovers;
      } else {
        is_whole |= rest.is_whole;
        is_shared |= rest.is_anything;
      }
    }
  }
  // A whole device is allocated only if no other container has a share of it, and one whose
  // memory is not counted only if no memory of it is allocated.
  const bool is_taken = is_whole || (!device.replicas && is_shared) ||
                        (device.replicas && device.share_bytes == 0 && bytes > 0);
  room.free = is_taken ? 0 : more_shares(device, room.held.size(), bytes);
  return room;
}

Status Coverage::admits(const Offer& offer, const std::vector<std::string_view>& shares) const {
  std::map<const OfferedDevice*, std::set<unsigned>> asked;
  for (const std::string_view id : shares) {
    const LocatedShare share = offer.locate(id);
    if (share.device != nullptr) asked[share.device].insert(share.replica);
  }
  for (const auto& [device, numbers] : asked) {
    if (Status free = admits(offer, *device, numbers); !free) return free;
  }
  return Done{};
}

Status Coverage::admits(const Offer& offer, const OfferedDevice& device,
                        const std::set<unsigned>& asked) const {
  const auto refuse = [&](const std::string& resource, const Hold& in_the_way,
                          const std::string& how) {
    return Error{ErrorCode::kUnavailable,
                 fmt::format("GPU {} ({}) cannot be allocated as {} now: {} is held as {} by {}",
                             device.index(), device.uuid, offer.name.text, how, resource,
                             named(in_the_way.holders))};
  };
  if (const auto* relative = held_relative(device)) {
    const auto& [resource, hold] = *relative->second.begin();
    return refuse(resource, hold,
                  fmt::format("{}, {},",
                              device.is_mig() ? "the GPU that it is a part of"
                                              : "a MIG device that is a part of it",
                              relative->first));
  }
  const auto holds = devices_.find(device.uuid);
  if (holds == devices_.end()) return Done{};
  std::uint64_t bytes = 0;
  std::uint64_t most = 0;
  const std::pair<const std::string, Hold>* largest = nullptr;
  for (const auto& entry : holds->second) {
    const auto& [resource, hold] = entry;
    const bool own = resource == offer.name.text;
    const Rest rest = rest_of(hold, own ? asked : std::set<unsigned>{});
    if (!rest.is_anything) continue;
    if (rest.is_whole) return refuse(resource, hold, "all of it");
    if (!device.replicas) return refuse(resource, hold, "a part of it");
    bytes += rest.bytes;
    if (largest == nullptr || rest.bytes > most) {
      largest = &entry;
      most = rest.bytes;
    }
  }
  const std::uint64_t wanted = asked.size() * device.share_bytes;
  if (largest == nullptr || bytes == 0) return Done{};
  if (device.share_bytes == 0) {
    return refuse(largest->first, largest->second,
                  fmt::format("memory that is not counted here, {},", mebibytes(bytes)));
  }
  if (device.memory_bytes == 0) {
    return refuse(largest->first, largest->second, "memory of unknown size");
  }
  if (bytes + wanted <= device.memory_bytes) return Done{};
  return refuse(largest->first, largest->second,
                fmt::format("of its {}, {} are taken and {} are requested; most",
                            mebibytes(device.memory_bytes), mebibytes(bytes), mebibytes(wanted)));
}

std::string Coverage::part_held(const Offer& offer, const OfferedDevice& device,
                                const std::string& resource, const Hold& hold) {
  const bool own = resource == offer.name.text;
  const Rest rest = rest_of(hold, {});
  if (!rest.is_anything) return {};
  if (own) {
    const bool has_other_sizes =
        hold.has_leftovers || rest.bytes != rest.shares.size() * device.share_bytes;
    if (!device.replicas || (!has_other_sizes && !rest.is_whole)) return {};
    return "shares that were granted with another size";
  }
  if (hold.whole) return device.is_mig() ? "the whole MIG device" : "the whole GPU";
  if (rest.is_whole) return "shares of unknown size";
  if (rest.bytes > 0) return mebibytes(rest.bytes) + " of its memory";
  return device.replicas ? "" : "a part of it";
}

std::string Coverage::withheld_reason(const Offer& offer, const OfferedDevice& device) const {
  const DeviceRoom room = room_of(offer, device, {});
  if (room.held.size() + room.free >= device.shares()) return {};
  std::vector<std::string> reasons;
  const auto add = [&](const std::string& what, const std::string& resource, const Hold& hold) {
    reasons.push_back(fmt::format("{} is held as {} by {}", what, resource, named(hold.holders)));
  };
  if (const auto* relative = held_relative(device)) {
    const std::string what = fmt::format(
        "{}, {},", device.is_mig() ? "the GPU that it is a part of" : "a MIG device of it",
        relative->first);
    for (const auto& [resource, hold] : relative->second) add(what, resource, hold);
  }
  const auto holds = devices_.find(device.uuid);
  if (holds != devices_.end()) {
    for (const auto& [resource, hold] : holds->second) {
      const std::string what = part_held(offer, device, resource, hold);
      if (!what.empty()) add(what, resource, hold);
    }
  }
  return join(reasons, "; ");
}

}  // namespace tranche::core
