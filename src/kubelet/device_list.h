// SPDX-License-Identifier: Apache-2.0
//
// What the kubelet is told of a resource: ids, health and NUMA nodes. Kept
// apart from the rest of an offer, so that a list is sent again only when
// something in it has changed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sharing/catalog.h"

namespace tranche {

struct ListedDevice {
  std::string uuid;
  std::optional<unsigned> replicas;
  std::optional<unsigned> numa_node;
  bool healthy = true;

  bool operator==(const ListedDevice&) const = default;
};

using DeviceList = std::vector<ListedDevice>;  // sorted by uuid

DeviceList list_of(const Offer& offer);

}  // namespace tranche
