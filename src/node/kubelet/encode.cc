// SPDX-License-Identifier: Apache-2.0
#include "node/kubelet/encode.h"

#include "core/sharing/share_id.h"

namespace tranche::node {
namespace {

// Approximate bytes of a device without its id; only the reserved memory depends on it.
constexpr std::size_t kBesideUuid = 48;

std::size_t expected_size(const DeviceList& list) {
  std::size_t size = 0;
  for (const ListedDevice& device : list) {
    size += (device.uuid.size() + device.tag.size() + kBesideUuid) * device.shares();
  }
  return size;
}

}  // namespace

std::string encode(const DeviceList& list) {
  std::string bytes;
  bytes.reserve(expected_size(list));
  for (const ListedDevice& device : list) {
    // Concatenated messages with one device each are one message with all devices.
    v1beta1::ListAndWatchResponse one;
    v1beta1::Device& added = *one.add_devices();
    added.set_health(device.healthy ? "Healthy" : "Unhealthy");
    // Never an empty topology: it would hide the device from pod-resources.
    if (device.numa_node) {
      added.mutable_topology()->add_nodes()->set_id(static_cast<std::int64_t>(*device.numa_node));
    }
    const unsigned end = device.replicas.value_or(device.first + 1);
    for (unsigned replica = device.first; replica < end; ++replica) {
      added.set_id(share_id(device.uuid, device.tag,
                            device.replicas ? std::optional(replica) : std::nullopt));
      one.AppendToString(&bytes);
    }
  }
  return bytes;
}

void encode(const ContainerGrant& grant, v1beta1::ContainerAllocateResponse& message) {
  for (const auto& [name, value] : grant.env) (*message.mutable_envs())[name] = value;
  for (const GrantedMount& mount : grant.mounts) {
    v1beta1::Mount& added = *message.add_mounts();
    added.set_container_path(mount.container_path);
    added.set_host_path(mount.host_path);
    added.set_read_only(mount.read_only);
  }
  for (const GrantedNode& node : grant.nodes) {
    v1beta1::DeviceSpec& added = *message.add_devices();
    added.set_container_path(node.container_path);
    added.set_host_path(node.host_path);
    added.set_permissions(node.permissions);
  }
  for (const auto& [name, value] : grant.annotations) {
    (*message.mutable_annotations())[name] = value;
  }
  for (const std::string& name : grant.cdi_devices) message.add_cdi_devices()->set_name(name);
}

}  // namespace tranche::node
