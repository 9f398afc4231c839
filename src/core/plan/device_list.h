// SPDX-License-Identifier: Apache-2.0
//
// The device list of a resource, as sent to the kubelet: ids, health and NUMA nodes. Separate
// from the rest of an offer, so that a list is sent again only when it changes.
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
  // The numbered shares from `first` to below `replicas`.
  unsigned first = 0;
  std::optional<unsigned> replicas;
  std::optional<unsigned> numa_node;
  bool healthy = true;

  unsigned shares() const { return replicas ? *replicas - first : 1; }
  bool operator==(const ListedDevice&) const = default;
};

using DeviceList = std::vector<ListedDevice>;  // sorted by uuid, then number

// A healthy device lists its held shares and its free ones, lowest numbers first, as healthy.
// Shares that other resources cover are listed as unhealthy, so that the kubelet does not
// allocate them.
DeviceList list_of(const Offer& offer, const OfferRoom& room);

// The list to send between `shown` and `wanted`: `wanted`, and what it drops as unhealthy. The
// kubelet (up to 1.37 at least) crashes if a device leaves the list while it is being allocated.
// It does not allocate an unhealthy device, so that one can leave a moment later. Equal to
// `wanted` if nothing is dropped.
DeviceList transition_list(const DeviceList& shown, const DeviceList& wanted);

}  // namespace tranche::core
