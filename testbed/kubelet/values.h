// SPDX-License-Identifier: Apache-2.0
//
// The words of the stand-in for the kubelet: pods as far as devices matter, and
// what a plugin answers. Plain values, no gRPC.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tranche::testbed::standin {

// Device ids. A set where the kubelet keeps a set; a list where an order went
// over the wire.
using Ids = std::set<std::string>;
using IdList = std::vector<std::string>;

// Resource name to count, as in `resources.limits`.
using Limits = std::map<std::string, std::int64_t>;

using NumaNodes = std::set<std::int64_t>;

struct Container {
  std::string name;
  Limits limits;
  // An init container that keeps running beside the others (a sidecar).
  bool restartable = false;
  // Runs while its pod is admitted: only after a restart of the kubelet, see
  // Kubelet::admit_found_pods().
  bool running = false;
  // The topology manager's hint; empty with its policy `none`.
  std::optional<NumaNodes> numa_affinity;

  bool operator==(const Container&) const = default;
};

struct Pod {
  std::string uid;
  std::string name;
  std::string ns = "default";
  std::vector<Container> init_containers;
  std::vector<Container> containers;

  bool operator==(const Pod&) const = default;
};

struct Mount {
  std::string container_path;
  std::string host_path;
  bool read_only = false;

  bool operator==(const Mount&) const = default;
};

struct DeviceNode {
  std::string container_path;
  std::string host_path;
  std::string permissions;

  bool operator==(const DeviceNode&) const = default;
};

// A ContainerAllocateResponse, decoded.
struct ContainerResponse {
  std::map<std::string, std::string> envs;
  std::vector<Mount> mounts;
  std::vector<DeviceNode> devices;
  std::map<std::string, std::string> annotations;
  std::vector<std::string> cdi_devices;

  bool operator==(const ContainerResponse&) const = default;
};

struct PluginOptions {
  bool pre_start_required = false;
  bool preferred_allocation_available = false;

  bool operator==(const PluginOptions&) const = default;
};

// One device of a ListAndWatch message. Anything but "Healthy" is unhealthy.
struct Device {
  std::string id;
  std::string health;
  std::vector<std::int64_t> numa_nodes;

  bool operator==(const Device&) const = default;
};

// Which kubelet to be. They differ in what a second registration of a resource
// does, see client_table.h.
enum class KubeletVersion { k136, k137 };

}  // namespace tranche::testbed::standin
