// SPDX-License-Identifier: Apache-2.0
//
// What the kubelet is told of a resource: ids, health and NUMA nodes. Kept
// apart from the rest of an offer, so that a list is sent again only when
// something in it has changed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/ledger/coverage.h"
#include "core/sharing/catalog.h"

namespace tranche::core {

struct ListedDevice {
  std::string uuid;
  std::string tag;  // of its ids; share_id.h
  // Where shares are numbered: those from `first` to below `replicas`.
  unsigned first = 0;
  std::optional<unsigned> replicas;
  std::optional<unsigned> numa_node;
  bool healthy = true;

  unsigned shares() const { return replicas ? *replicas - first : 1; }
  bool operator==(const ListedDevice&) const = default;
};

using DeviceList = std::vector<ListedDevice>;  // sorted by uuid, then number

// Of a healthy device, what is held is healthy and as much of the rest as is
// free, the lowest numbers first. What other names have taken off is unhealthy:
// the kubelet gives it to nobody.
DeviceList list_of(const Offer& offer, const OfferRoom& room);

// On the way from one list to another: the new one, and what it no longer has
// as unhealthy. The kubelet (up to 1.37 at least) crashes when a device leaves
// the list while an allocation of it is under way; one that is unhealthy is
// chosen no more, and can leave a moment later. Equal to `wanted` where nothing
// is dropped.
DeviceList towards(const DeviceList& shown, const DeviceList& wanted);

}  // namespace tranche::core
