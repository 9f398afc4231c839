// SPDX-License-Identifier: Apache-2.0
//
// What the kubelet's device manager knows, as a value, and how it changes: the
// endpoints, the devices and their health, and who holds what. The odd corners
// are the kubelet's: `allocated` can hold ids that no pod has (an allocation
// that failed half-way), and a device that was allocated may no longer be
// listed. Which devices a container gets is decided in choice.h.
//
// Pure: no clock, no lock, no call. Times are given.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "testbed/kubelet/values.h"

namespace tranche::testbed::standin {

using Clock = std::chrono::steady_clock;

// A connection to a plugin; 0 is none. Numbers are never used again.
using ClientId = std::uint64_t;

struct Endpoint {
  ClientId client = 0;  // 0: known from the checkpoint only
  std::string socket;
  std::optional<PluginOptions> options;  // empty: known from the checkpoint only
  std::optional<Clock::time_point> stopped_at;
};

// NUMA node to ids. Ids without a node are under -1, as in the checkpoint.
using DevicesPerNuma = std::map<std::int64_t, IdList>;
inline constexpr std::int64_t kNoNumaNode = -1;

struct Allocation {
  DevicesPerNuma devices;
  ContainerResponse response;

  bool operator==(const Allocation&) const = default;
};

using ContainerAllocations = std::map<std::string, Allocation>;      // by resource
using PodAllocations = std::map<std::string, ContainerAllocations>;  // by container
using AllocationsByPod = std::map<std::string, PodAllocations>;      // by pod uid
using ListedDevices = std::map<std::string, Device>;                 // by id

struct NodeState {
  std::map<std::string, Endpoint> endpoints;
  // 1.37 only: every connected endpoint of a resource, by its socket.
  std::map<std::string, std::map<std::string, Endpoint>> connected;
  std::map<std::string, ListedDevices> listed;
  std::map<std::string, Ids> healthy;
  std::map<std::string, Ids> unhealthy;
  std::map<std::string, Ids> allocated;
  AllocationsByPod pods;
};

struct ResourceCount {
  std::int64_t capacity = 0;
  std::int64_t allocatable = 0;

  bool operator==(const ResourceCount&) const = default;
};
using NodeStatus = std::map<std::string, ResourceCount>;

// After the plugin's options have been read. 1.37 refuses a socket that is
// connected already.
Status connect_plugin(NodeState& state, KubeletVersion version, const std::string& resource,
                      const Endpoint& endpoint);

// After the end of a client's stream.
void disconnect_plugin(NodeState& state, KubeletVersion version, const std::string& resource,
                       const std::string& socket, Clock::time_point now);

// Each list is the whole list: what is not in it is gone.
void apply_list(NodeState& state, const std::string& resource, const std::vector<Device>& devices);

// The node's status from now on. An endpoint that has been stopped for longer
// than `grace` is forgotten with its devices; its resource stays in the status
// with zero, which tells that it was a plugin's. Says whether it forgot any:
// then the kubelet writes its checkpoint.
bool update_status(NodeState& state, NodeStatus& status, Clock::time_point now,
                   std::chrono::milliseconds grace);

// When update_status() will next forget an endpoint, if nothing else happens.
std::optional<Clock::time_point> next_expiry(const NodeState& state,
                                             std::chrono::milliseconds grace);

// Frees what is held by pods that are no longer active. Where none is gone it
// does nothing at all, so that ids left over from a failed allocation stay.
void free_inactive(NodeState& state, const std::set<std::string>& active_uids);

// Forgets reservations that no pod has.
void recount_allocated(NodeState& state);

// Whether the device manager is in charge of the resource.
bool is_plugin_resource(const NodeState& state, const std::string& resource);

// All ids of an allocation, each once.
Ids ids_of(const DevicesPerNuma& devices);

// Every allocation of every pod, in order.
struct Holding {
  std::string pod_uid;
  std::string container;
  std::string resource;
  const Allocation* allocation = nullptr;  // in the map it was taken from
};
std::vector<Holding> holdings_of(const AllocationsByPod& pods);

// What the container was given of the resource; null when nothing yet.
const Allocation* find_allocation(const NodeState& state, const std::string& pod_uid,
                                  const std::string& container, const std::string& resource);

// Sorts ids by NUMA node for the record. Empty when one of them is no longer
// listed: there the real kubelet reads through a null pointer and crashes.
std::optional<DevicesPerNuma> group_by_numa(const NodeState& state, const std::string& resource,
                                            const Ids& ids);

// The state a kubelet starts with: the allocations it had, and the resources
// it knew, at zero devices until their plugins register again.
NodeState state_after_restart(AllocationsByPod pods, const std::set<std::string>& resources,
                              Clock::time_point now);

}  // namespace tranche::testbed::standin
