// SPDX-License-Identifier: Apache-2.0
#include "core/plan/device_list.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace tranche::core {
namespace {

void put_in_order(DeviceList& list) {
  std::ranges::sort(list, {}, [](const ListedDevice& device) {
    return std::tuple(std::string_view(device.uuid), std::string_view(device.tag),
                      device.replicas.has_value(), device.first);
  });
}

// Adds numbered shares as runs of equal health.
void add_shares(const ListedDevice& stem, const DeviceRoom& room, DeviceList& list) {
  const unsigned end = stem.replicas.value_or(0);
  unsigned free = room.free;
  auto held = room.held.begin();
  ListedDevice run = stem;
  for (unsigned number = 0; number < end; ++number) {
    bool healthy = held != room.held.end() && *held == number;
    if (healthy) {
      ++held;
    } else if (free > 0) {
      healthy = true;
      --free;
    }
    if (number > 0 && healthy != run.healthy) {
      run.replicas = number;
      list.push_back(run);
      run.first = number;
    }
    run.healthy = healthy;
  }
  run.replicas = end;
  list.push_back(std::move(run));
}

}  // namespace

DeviceList list_of(const Offer& offer, const OfferRoom& room) {
  DeviceList list;
  for (std::size_t i = 0; i < offer.devices.size(); ++i) {
    const OfferedDevice& device = offer.devices[i];
    ListedDevice listed{.uuid = device.uuid,
                        .tag = device.tag,
                        .replicas = device.replicas,
                        .numa_node = device.numa_node,
                        .healthy = device.health.ok()};
    const bool is_held = !room[i].held.empty();
    if (!device.replicas) listed.healthy = listed.healthy && (is_held || room[i].free > 0);
    if (listed.healthy && device.replicas && *device.replicas > 0) {
      add_shares(listed, room[i], list);
    } else {
      list.push_back(std::move(listed));
    }
  }
  put_in_order(list);
  return list;
}

DeviceList transition_list(const DeviceList& shown, const DeviceList& wanted) {
  using Key = std::tuple<std::string_view, std::string_view, bool>;
  const auto key_of = [](const ListedDevice& device) {
    return Key(device.uuid, device.tag, device.replicas.has_value());
  };
  std::map<Key, unsigned> ends;  // one above the highest remaining number
  for (const ListedDevice& device : wanted) {
    unsigned& end = ends[key_of(device)];
    end = std::max(end, device.replicas.value_or(1));
  }
  DeviceList list = wanted;
  for (const ListedDevice& old : shown) {
    const auto kept = ends.find(key_of(old));
    ListedDevice dropped = old;
    dropped.healthy = false;
    if (kept != ends.end()) {
      // Fewer replicas than before: the highest numbers go.
      if (!old.replicas || *old.replicas <= kept->second) continue;
      dropped.first = std::max(old.first, kept->second);
    }
    list.push_back(std::move(dropped));
  }
  put_in_order(list);
  return list;
}

}  // namespace tranche::core
