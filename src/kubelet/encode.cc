// SPDX-License-Identifier: Apache-2.0
#include "kubelet/encode.h"

#include "sharing/share_id.h"

namespace tranche {
namespace {

void add_device(const ListedDevice& device, std::string id,
                v1beta1::ListAndWatchResponse& message) {
  v1beta1::Device& added = *message.add_devices();
  added.set_id(std::move(id));
  added.set_health(device.healthy ? "Healthy" : "Unhealthy");
  // An empty topology would hide the device from pod-resources: none, or one
  // with a node in it.
  if (device.numa_node) {
    added.mutable_topology()->add_nodes()->set_id(static_cast<std::int64_t>(*device.numa_node));
  }
}

}  // namespace

void encode(const DeviceList& list, v1beta1::ListAndWatchResponse& message) {
  for (const ListedDevice& device : list) {
    if (!device.replicas) {
      add_device(device, device.uuid, message);
      continue;
    }
    for (unsigned replica = device.first; replica < *device.replicas; ++replica) {
      add_device(device, share_id(device.uuid, replica), message);
    }
  }
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

}  // namespace tranche
