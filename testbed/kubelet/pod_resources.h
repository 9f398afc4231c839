// SPDX-License-Identifier: Apache-2.0
//
// What the pod-resources service tells of a pod: its containers and their
// devices. Init containers that end are left out, as in the kubelet. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "testbed/kubelet/node_state.h"
#include "testbed/kubelet/values.h"

namespace tranche::testbed::standin {

// The kubelet gives each device an entry of its own.
struct ListedDevice {
  std::string resource;
  std::string id;
  std::vector<std::int64_t> numa_nodes;

  bool operator==(const ListedDevice&) const = default;
};

struct ListedContainer {
  std::string name;
  std::vector<ListedDevice> devices;

  bool operator==(const ListedContainer&) const = default;
};

struct ListedPod {
  std::string ns;
  std::string name;
  std::vector<ListedContainer> containers;

  bool operator==(const ListedPod&) const = default;
};

ListedPod list_pod(const NodeState& state, const Pod& pod);

// How often the service was asked.
struct PodResourcesCounts {
  std::uint64_t lists = 0;
  std::uint64_t gets = 0;
  // Lists that came while a plugin was being asked for a preference or an
  // allocation: in the real kubelet these can lose a reservation.
  std::uint64_t lists_during_calls = 0;

  bool operator==(const PodResourcesCounts&) const = default;
};

}  // namespace tranche::testbed::standin
