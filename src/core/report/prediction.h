// SPDX-License-Identifier: Apache-2.0
//
// What the agent of a node would choose for a container, from its GpuNode alone. Runs the node's
// own placement code, so that the cluster and the node agree. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "base/result.h"
#include "core/gpu/topology.h"
#include "core/report/gpu_node.h"

namespace tranche::core {

// How many shares of each device, by uuid. An error: the agent would refuse the container, or does
// not have as many; the message has the numbers.
Result<std::map<std::string, std::size_t>> predict(const ReportedResource& resource,
                                                   const Topology& topology, std::size_t shares);

}  // namespace tranche::core
