// SPDX-License-Identifier: Apache-2.0
//
// The kubelet's last look before it lets a pod in: does the node's status have
// room for it? It comes after the devices were allocated, and matters for a
// resource that the device manager no longer knows. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "testbed/kubelet/node_state.h"
#include "testbed/kubelet/values.h"

namespace tranche::testbed::standin {

// What a pod asks for at its greediest moment: the sum over its containers and
// sidecars, or one init container with the sidecars before it.
Limits pod_request(const Pod& pod);

struct Shortage {
  std::string reason;
  std::string message;
};

// Resources that the status does not name are not the node's and are passed
// over. A pod that holds devices never fails for those already allocated.
std::optional<Shortage> find_shortage(const NodeState& state, NodeStatus status, const Pod& pod,
                                      const std::vector<Pod>& others);

}  // namespace tranche::testbed::standin
