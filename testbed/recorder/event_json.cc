// SPDX-License-Identifier: Apache-2.0
#include "testbed/recorder/event_json.h"

#include <string>

#include "testbed/kubelet/wire.h"

namespace tranche::testbed::recorder {
namespace {

Json array(const google::protobuf::RepeatedPtrField<std::string>& ids) {
  Json list = Json::array();
  for (const std::string& id : ids) list.push_back(id);
  return list;
}

Json object(const std::map<std::string, std::string>& pairs) {
  Json value = Json::object();
  for (const auto& [name, text] : pairs) value[name] = text;
  return value;
}

Json container_answer(const standin::ContainerResponse& response) {
  Json mounts = Json::array();
  for (const standin::Mount& mount : response.mounts) {
    mounts.push_back({{"host", mount.host_path},
                      {"container", mount.container_path},
                      {"read_only", mount.read_only}});
  }
  Json nodes = Json::array();
  for (const standin::DeviceNode& device : response.devices) {
    nodes.push_back({{"host", device.host_path},
                     {"container", device.container_path},
                     {"permissions", device.permissions}});
  }
  return {{"envs", object(response.envs)},
          {"mounts", std::move(mounts)},
          {"devices", std::move(nodes)},
          {"annotations", object(response.annotations)},
          {"cdi_devices", response.cdi_devices}};
}

}  // namespace

Json question(const v1beta1::Empty& /*request*/) { return Json::object(); }

Json question(const v1beta1::RegisterRequest& request) {
  Json fields = {{"resource", request.resource_name()},
                 {"endpoint", request.endpoint()},
                 {"version", request.version()}};
  if (request.has_options()) fields["options"] = answer(request.options());
  return fields;
}

Json question(const v1beta1::PreferredAllocationRequest& request) {
  Json containers = Json::array();
  for (const auto& container : request.container_requests()) {
    containers.push_back({{"available", array(container.available_deviceids())},
                          {"must_include", array(container.must_include_deviceids())},
                          {"size", container.allocation_size()}});
  }
  return {{"containers", std::move(containers)}};
}

Json question(const v1beta1::AllocateRequest& request) {
  Json containers = Json::array();
  for (const auto& container : request.container_requests()) {
    containers.push_back({{"ids", array(container.devices_ids())}});
  }
  return {{"containers", std::move(containers)}};
}

Json question(const v1beta1::PreStartContainerRequest& request) {
  return {{"ids", array(request.devices_ids())}};
}

Json answer(const v1beta1::Empty& /*response*/) { return Json::object(); }

Json answer(const v1beta1::DevicePluginOptions& response) {
  return {{"pre_start_required", response.pre_start_required()},
          {"get_preferred_allocation_available", response.get_preferred_allocation_available()}};
}

Json answer(const v1beta1::PreferredAllocationResponse& response) {
  Json containers = Json::array();
  for (const auto& container : response.container_responses()) {
    containers.push_back({{"ids", array(container.deviceids())}});
  }
  return {{"containers", std::move(containers)}};
}

Json answer(const v1beta1::AllocateResponse& response) {
  Json containers = Json::array();
  for (const auto& container : response.container_responses()) {
    containers.push_back(container_answer(standin::from_wire(container)));
  }
  return {{"containers", std::move(containers)}};
}

Json answer(const v1beta1::PreStartContainerResponse& /*response*/) { return Json::object(); }

Json devices(const v1beta1::ListAndWatchResponse& list) {
  Json all = Json::array();
  for (const v1beta1::Device& device : list.devices()) {
    Json one = {{"id", device.id()}, {"health", device.health()}};
    if (device.has_topology()) {
      Json nodes = Json::array();
      for (const auto& node : device.topology().nodes()) nodes.push_back(node.id());
      one["numa"] = std::move(nodes);
    }
    all.push_back(std::move(one));
  }
  return all;
}

Json error(const grpc::Status& status) {
  return {{"code", standin::code_name(status.error_code())}, {"message", status.error_message()}};
}

}  // namespace tranche::testbed::recorder
