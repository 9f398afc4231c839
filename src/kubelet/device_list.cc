// SPDX-License-Identifier: Apache-2.0
#include "kubelet/device_list.h"

#include <algorithm>

namespace tranche {

DeviceList list_of(const Offer& offer) {
  DeviceList list;
  for (const OfferedDevice& device : offer.devices) {
    list.push_back({device.uuid, device.replicas, device.numa_node, device.health.ok()});
  }
  std::ranges::sort(list, {}, &ListedDevice::uuid);
  return list;
}

}  // namespace tranche
