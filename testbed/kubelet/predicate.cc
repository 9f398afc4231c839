// SPDX-License-Identifier: Apache-2.0
#include "testbed/kubelet/predicate.h"

#include <algorithm>
#include <cstdint>

namespace tranche::testbed::standin {
namespace {

void add(Limits& total, const Limits& more) {
  for (const auto& [resource, count] : more) total[resource] += count;
}

}  // namespace

Limits pod_request(const Pod& pod) {
  Limits running;
  for (const Container& container : pod.containers) add(running, container.limits);
  Limits sidecars;
  Limits peak;
  for (const Container& container : pod.init_containers) {
    Limits moment = sidecars;
    add(moment, container.limits);
    if (container.restartable) sidecars = moment;
    for (const auto& [resource, count] : moment) peak[resource] = std::max(peak[resource], count);
  }
  add(running, sidecars);
  for (const auto& [resource, count] : running) peak[resource] = std::max(peak[resource], count);
  return peak;
}

std::optional<Shortage> find_shortage(const NodeState& state, NodeStatus status, const Pod& pod,
                                      const std::vector<Pod>& others) {
  if (state.pods.contains(pod.uid)) {
    for (const auto& [resource, ids] : state.allocated) {
      std::int64_t& allocatable = status[resource].allocatable;
      allocatable = std::max(allocatable, static_cast<std::int64_t>(ids.size()));
    }
  }
  Limits used;
  for (const Pod& other : others) add(used, pod_request(other));
  for (const auto& [resource, requested] : pod_request(pod)) {
    const auto found = status.find(resource);
    if (found == status.end() || requested == 0) continue;
    const std::int64_t allocatable = found->second.allocatable;
    if (requested <= allocatable - used[resource]) continue;
    return Shortage{"OutOf" + resource, "Node didn't have enough resource: " + resource +
                                            ", requested: " + std::to_string(requested) +
                                            ", used: " + std::to_string(used[resource]) +
                                            ", capacity: " + std::to_string(allocatable)};
  }
  return std::nullopt;
}

}  // namespace tranche::testbed::standin
