// SPDX-License-Identifier: Apache-2.0
#include "testbed/kubelet/wire.h"

#include <array>
#include <cstddef>
#include <string_view>

namespace tranche::testbed::standin {
namespace {

// Go's names of the codes, by their numbers.
constexpr std::array<std::string_view, 17> kCodeNames = {
    "OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
    "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
    "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
    "DataLoss", "Unauthenticated"};

}  // namespace

std::string code_name(grpc::StatusCode code) {
  const auto number = static_cast<std::size_t>(code);
  if (number < kCodeNames.size()) return std::string(kCodeNames.at(number));
  return "Code(" + std::to_string(number) + ")";
}

ContainerResponse from_wire(const v1beta1::ContainerAllocateResponse& message) {
  ContainerResponse response;
  response.envs.insert(message.envs().begin(), message.envs().end());
  for (const auto& mount : message.mounts()) {
    response.mounts.push_back({mount.container_path(), mount.host_path(), mount.read_only()});
  }
  for (const auto& device : message.devices()) {
    response.devices.push_back({device.container_path(), device.host_path(), device.permissions()});
  }
  response.annotations.insert(message.annotations().begin(), message.annotations().end());
  for (const auto& device : message.cdi_devices()) response.cdi_devices.push_back(device.name());
  return response;
}

v1beta1::ContainerAllocateResponse to_wire(const ContainerResponse& response) {
  v1beta1::ContainerAllocateResponse message;
  message.mutable_envs()->insert(response.envs.begin(), response.envs.end());
  for (const Mount& mount : response.mounts) {
    v1beta1::Mount* added = message.add_mounts();
    added->set_container_path(mount.container_path);
    added->set_host_path(mount.host_path);
    added->set_read_only(mount.read_only);
  }
  for (const DeviceNode& device : response.devices) {
    v1beta1::DeviceSpec* added = message.add_devices();
    added->set_container_path(device.container_path);
    added->set_host_path(device.host_path);
    added->set_permissions(device.permissions);
  }
  message.mutable_annotations()->insert(response.annotations.begin(), response.annotations.end());
  for (const std::string& name : response.cdi_devices) message.add_cdi_devices()->set_name(name);
  return message;
}

std::vector<Device> from_wire(const v1beta1::ListAndWatchResponse& message) {
  std::vector<Device> devices;
  devices.reserve(static_cast<std::size_t>(message.devices_size()));
  for (const auto& listed : message.devices()) {
    Device device{listed.id(), listed.health(), {}};
    for (const auto& node : listed.topology().nodes()) device.numa_nodes.push_back(node.id());
    devices.push_back(std::move(device));
  }
  return devices;
}

std::string rpc_error_text(const grpc::Status& status) {
  return "rpc error: code = " + code_name(status.error_code()) +
         " desc = " + status.error_message();
}

Error rpc_error(const grpc::Status& status) {
  return {ErrorCode::kUnavailable, rpc_error_text(status)};
}

}  // namespace tranche::testbed::standin
