// SPDX-License-Identifier: Apache-2.0
#include "kubelet/device_list.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

namespace tranche {
namespace {

void put_in_order(DeviceList& list) {
  std::ranges::sort(list, {}, [](const ListedDevice& device) {
    return std::tuple(std::string_view(device.uuid), device.replicas.has_value(), device.first);
  });
}

}  // namespace

DeviceList list_of(const Offer& offer) {
  DeviceList list;
  for (const OfferedDevice& device : offer.devices) {
    list.push_back({.uuid = device.uuid,
                    .replicas = device.replicas,
                    .numa_node = device.numa_node,
                    .healthy = device.health.ok()});
  }
  put_in_order(list);
  return list;
}

DeviceList towards(const DeviceList& shown, const DeviceList& wanted) {
  DeviceList list = wanted;
  for (const ListedDevice& old : shown) {
    const auto kept = std::ranges::find_if(wanted, [&](const ListedDevice& candidate) {
      return candidate.uuid == old.uuid &&
             candidate.replicas.has_value() == old.replicas.has_value();
    });
    ListedDevice dropped = old;
    dropped.healthy = false;
    if (kept != wanted.end()) {
      // Fewer replicas than before: the highest numbers go.
      const unsigned still = kept->replicas.value_or(0);
      if (old.replicas.value_or(0) <= still) continue;
      dropped.first = std::max(old.first, still);
    }
    list.push_back(std::move(dropped));
  }
  put_in_order(list);
  return list;
}

}  // namespace tranche
