// SPDX-License-Identifier: Apache-2.0
#include "testbed/kubelet/pod_resources.h"

#include <map>

namespace tranche::testbed::standin {
namespace {

ListedContainer list_container(const NodeState& state, const Pod& pod, const Container& container) {
  ListedContainer listed{container.name, {}};
  const auto containers = state.pods.find(pod.uid);
  if (containers == state.pods.end()) return listed;
  const auto resources = containers->second.find(container.name);
  if (resources == containers->second.end()) return listed;
  for (const auto& [resource, allocation] : resources->second) {
    std::map<std::string, std::vector<std::int64_t>> nodes;  // by id
    for (const auto& [node, ids] : allocation.devices) {
      for (const std::string& id : ids) {
        auto& of_id = nodes[id];
        if (node != kNoNumaNode) of_id.push_back(node);
      }
    }
    for (auto& [id, of_id] : nodes) listed.devices.push_back({resource, id, std::move(of_id)});
  }
  return listed;
}

}  // namespace

ListedPod list_pod(const NodeState& state, const Pod& pod) {
  ListedPod listed{pod.ns, pod.name, {}};
  for (const Container& container : pod.init_containers) {
    if (container.restartable) listed.containers.push_back(list_container(state, pod, container));
  }
  for (const Container& container : pod.containers) {
    listed.containers.push_back(list_container(state, pod, container));
  }
  return listed;
}

}  // namespace tranche::testbed::standin
