// SPDX-License-Identifier: Apache-2.0
#include "testbed/kubelet/node_state.h"

#include <algorithm>
#include <utility>

namespace tranche::testbed::standin {
namespace {

void mark_all_unhealthy(NodeState& state, const std::string& resource) {
  Ids& unhealthy = state.unhealthy[resource];
  const auto healthy = state.healthy.find(resource);
  // A plugin that never sent a list has no entry here, and gets none: it does
  // not yet make its name a plugin's resource.
  if (healthy == state.healthy.end()) return;
  unhealthy.merge(healthy->second);
  healthy->second.clear();
}

void disconnect_136(NodeState& state, const std::string& resource, Clock::time_point now) {
  const auto endpoint = state.endpoints.find(resource);
  if (endpoint == state.endpoints.end()) return;
  mark_all_unhealthy(state, resource);
  endpoint->second.stopped_at = now;
}

void disconnect_137(NodeState& state, const std::string& resource, const std::string& socket,
                    Clock::time_point now) {
  const auto sockets = state.connected.find(resource);
  if (sockets == state.connected.end()) return;
  const auto gone = sockets->second.find(socket);
  if (gone == sockets->second.end()) return;

  const auto current = state.endpoints.find(resource);
  if (current != state.endpoints.end() && current->second.client == gone->second.client) {
    current->second.stopped_at = now;
  }
  sockets->second.erase(gone);
  if (sockets->second.empty()) {
    state.connected.erase(sockets);
    mark_all_unhealthy(state, resource);
  } else {
    // Any one of those that are left speaks for the resource from here on.
    state.endpoints[resource] = sockets->second.begin()->second;
  }
}

bool has_expired(const Endpoint& endpoint, Clock::time_point now, std::chrono::milliseconds grace) {
  return endpoint.stopped_at && now - *endpoint.stopped_at > grace;
}

void add_holdings(const std::string& uid, const std::string& container,
                  const ContainerAllocations& resources, std::vector<Holding>& holdings) {
  for (const auto& [resource, allocation] : resources) {
    holdings.push_back({uid, container, resource, &allocation});
  }
}

std::int64_t count(const std::map<std::string, Ids>& sets, const std::string& resource) {
  const auto found = sets.find(resource);
  return found == sets.end() ? 0 : static_cast<std::int64_t>(found->second.size());
}

}  // namespace

Status connect_plugin(NodeState& state, KubeletVersion version, const std::string& resource,
                      const Endpoint& endpoint) {
  if (version == KubeletVersion::k137 &&
      !state.connected[resource].emplace(endpoint.socket, endpoint).second) {
    return Error{ErrorCode::kInvalidArgument,
                 "device plugin already connected: " + endpoint.socket};
  }
  state.endpoints[resource] = endpoint;
  return Done{};
}

void disconnect_plugin(NodeState& state, KubeletVersion version, const std::string& resource,
                       const std::string& socket, Clock::time_point now) {
  if (version == KubeletVersion::k137) return disconnect_137(state, resource, socket, now);
  disconnect_136(state, resource, now);
}

void apply_list(NodeState& state, const std::string& resource, const std::vector<Device>& devices) {
  Ids& healthy = state.healthy[resource];
  Ids& unhealthy = state.unhealthy[resource];
  ListedDevices& listed = state.listed[resource];
  healthy.clear();
  unhealthy.clear();
  listed.clear();
  for (const Device& device : devices) {
    listed.insert_or_assign(device.id, device);
    (device.health == "Healthy" ? healthy : unhealthy).insert(device.id);
  }
}

bool update_status(NodeState& state, NodeStatus& status, Clock::time_point now,
                   std::chrono::milliseconds grace) {
  std::set<std::string> resources;
  for (const auto& [resource, ids] : state.healthy) resources.insert(resource);
  for (const auto& [resource, ids] : state.unhealthy) resources.insert(resource);
  bool has_forgotten = false;
  for (const std::string& resource : resources) {
    const auto endpoint = state.endpoints.find(resource);
    if (endpoint == state.endpoints.end() || has_expired(endpoint->second, now, grace)) {
      state.endpoints.erase(resource);
      state.healthy.erase(resource);
      state.unhealthy.erase(resource);
      status[resource] = {};
      has_forgotten = true;
      continue;
    }
    const std::int64_t healthy = count(state.healthy, resource);
    status[resource] = {healthy + count(state.unhealthy, resource), healthy};
  }
  return has_forgotten;
}

std::optional<Clock::time_point> next_expiry(const NodeState& state,
                                             std::chrono::milliseconds grace) {
  std::optional<Clock::time_point> next;
  for (const auto& [resource, endpoint] : state.endpoints) {
    if (!endpoint.stopped_at) continue;
    if (!state.healthy.contains(resource) && !state.unhealthy.contains(resource)) continue;
    // It is over only after the grace period, not at its end.
    const Clock::time_point expiry = *endpoint.stopped_at + grace + Clock::duration(1);
    if (!next || expiry < *next) next = expiry;
  }
  return next;
}

void free_inactive(NodeState& state, const std::set<std::string>& active_uids) {
  const auto freed =
      std::erase_if(state.pods, [&](const auto& pod) { return !active_uids.contains(pod.first); });
  if (freed > 0) recount_allocated(state);
}

void recount_allocated(NodeState& state) {
  state.allocated.clear();
  for (const Holding& holding : holdings_of(state.pods)) {
    state.allocated[holding.resource].merge(ids_of(holding.allocation->devices));
  }
}

bool is_plugin_resource(const NodeState& state, const std::string& resource) {
  return state.healthy.contains(resource) || state.allocated.contains(resource);
}

Ids ids_of(const DevicesPerNuma& devices) {
  Ids ids;
  for (const auto& [node, list] : devices) ids.insert(list.begin(), list.end());
  return ids;
}

std::vector<Holding> holdings_of(const AllocationsByPod& pods) {
  std::vector<Holding> holdings;
  for (const auto& [uid, containers] : pods) {
    for (const auto& [container, resources] : containers) {
      add_holdings(uid, container, resources, holdings);
    }
  }
  return holdings;
}

const Allocation* find_allocation(const NodeState& state, const std::string& pod_uid,
                                  const std::string& container, const std::string& resource) {
  const auto pod = state.pods.find(pod_uid);
  if (pod == state.pods.end()) return nullptr;
  const auto resources = pod->second.find(container);
  if (resources == pod->second.end()) return nullptr;
  const auto allocation = resources->second.find(resource);
  return allocation == resources->second.end() ? nullptr : &allocation->second;
}

std::optional<DevicesPerNuma> group_by_numa(const NodeState& state, const std::string& resource,
                                            const Ids& ids) {
  DevicesPerNuma groups;
  const auto listed = state.listed.find(resource);
  for (const std::string& id : ids) {
    if (listed == state.listed.end() || !listed->second.contains(id)) return std::nullopt;
    const Device& device = listed->second.at(id);
    if (device.numa_nodes.empty()) groups[kNoNumaNode].push_back(id);
    for (const std::int64_t node : device.numa_nodes) groups[node].push_back(id);
  }
  return groups;
}

NodeState state_after_restart(AllocationsByPod pods, const std::set<std::string>& resources,
                              Clock::time_point now) {
  NodeState state;
  state.pods = std::move(pods);
  recount_allocated(state);
  for (const std::string& resource : resources) {
    state.healthy[resource] = {};
    state.unhealthy[resource] = {};
    state.endpoints[resource] = Endpoint{.stopped_at = now};
  }
  return state;
}

}  // namespace tranche::testbed::standin
