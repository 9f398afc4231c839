// SPDX-License-Identifier: Apache-2.0
#include "bench/api_objects.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

namespace tranche::bench {
namespace {

using nlohmann::json;

constexpr int kFirstVersion = 1000;
constexpr const char* kTime = "2026-01-01T00:00:00Z";

// A node of a cloud has about twenty labels.
json labels_of(const std::string& node) {
  json labels{{"kubernetes.io/arch", "amd64"},
              {"kubernetes.io/hostname", node},
              {"kubernetes.io/os", "linux"},
              {"node.kubernetes.io/instance-type", "gpu-8x-h200"},
              {"topology.kubernetes.io/region", "region-1"},
              {"topology.kubernetes.io/zone", "region-1-a"}};
  for (int i = 0; i < 14; ++i) labels[fmt::format("cloud.example.com/label-{}", i)] = "value";
  return labels;
}

// The kubelet reports up to fifty, each by digest and by tag.
json images() {
  json list = json::array();
  for (int i = 0; i < 50; ++i) {
    const std::string name = fmt::format("registry.example.com/team/program-{:02}", i);
    list.push_back({{"names", {name + "@sha256:" + std::string(64, 'a'), name + ":v1.2.3"}},
                    {"sizeBytes", 100'000'000 + i}});
  }
  return list;
}

json conditions() {
  json list = json::array();
  for (const auto& [type, status] : {std::pair{"MemoryPressure", "False"},
                                     {"DiskPressure", "False"},
                                     {"PIDPressure", "False"},
                                     {"Ready", "True"}}) {
    list.push_back({{"type", type},
                    {"status", status},
                    {"reason", std::string("Kubelet") + type},
                    {"message", "the kubelet reports this condition in some words"},
                    {"lastHeartbeatTime", kTime},
                    {"lastTransitionTime", kTime}});
  }
  return list;
}

json quantities() {
  return {{"cpu", "192"},           {"memory", "2113398312Ki"},
          {"pods", "110"},          {"ephemeral-storage", "7430156240Ki"},
          {"hugepages-1Gi", "0"},   {"hugepages-2Mi", "0"},
          {"nvidia.com/gpu", "800"}};
}

// Who wrote which field: several kilobytes on a real node.
json managed_fields() {
  json list = json::array();
  for (const char* const manager : {"kubelet", "kube-controller-manager", "cloud-controller"}) {
    json fields;
    for (int i = 0; i < 60; ++i) {
      fields["f:metadata"]["f:labels"][fmt::format("f:cloud.example.com/label-{}", i)] =
          json::object();
    }
    list.push_back({{"manager", manager},
                    {"operation", "Update"},
                    {"apiVersion", "v1"},
                    {"time", kTime},
                    {"fieldsType", "FieldsV1"},
                    {"fieldsV1", fields}});
  }
  return list;
}

json make_node(const std::string& name) {
  return {{"apiVersion", "v1"},
          {"kind", "Node"},
          {"metadata",
           {{"name", name},
            {"uid", "0c0f41c2-5f3e-4a3c-9d7e-2f1b6f0a9e11"},
            {"labels", labels_of(name)},
            {"annotations", {{"node.alpha.kubernetes.io/ttl", "0"}}},
            {"managedFields", managed_fields()}}},
          {"spec", {{"podCIDR", "10.0.0.0/24"}}},
          {"status",
           {{"capacity", quantities()},
            {"allocatable", quantities()},
            {"conditions", conditions()},
            {"images", images()}}}};
}

}  // namespace

ApiObjects::ApiObjects(const std::string& node) : node_(make_node(node)) {
  first_labels_ = node_["metadata"]["labels"].size();
  first_conditions_ = node_["status"]["conditions"].size();
  set_version(kFirstVersion);
}

void ApiObjects::set_version(int version) {
  version_ = version;
  node_["metadata"]["resourceVersion"] = std::to_string(version);
}

std::optional<json> ApiObjects::write(const std::string& verb, const std::string& path,
                                      const json& body) {
  const std::string name = node_["metadata"]["name"];
  const std::string node = "/api/v1/nodes/" + name;
  const std::string gpu_node = "/apis/gpu.tranche.dev/v1alpha1/gpunodes/" + name;
  if (path.starts_with("/apis/events.k8s.io/v1/namespaces/")) return body;
  if (verb != "PATCH") return std::nullopt;
  if (path == node || path == node + "/status") {
    write_node(body);
    return node_;
  }
  if (path == gpu_node || path == gpu_node + "/status") {
    gpu_node_.update(body, /*merge_objects=*/true);
    return gpu_node_;
  }
  return std::nullopt;
}

void ApiObjects::write_node(const json& applied) {
  if (const json::json_pointer labels("/metadata/labels"); applied.contains(labels)) {
    node_[labels].update(applied[labels]);
  }
  if (const json::json_pointer list("/status/conditions"); applied.contains(list)) {
    write_conditions(applied[list]);
  }
  set_version(version_ + 1);
}

void ApiObjects::write_conditions(const json& applied) {
  json& known = node_["status"]["conditions"];
  for (const json& condition : applied) {
    const auto same = std::ranges::find_if(
        known, [&](const json& each) { return each["type"] == condition["type"]; });
    if (same == known.end()) {
      known.push_back(condition);
    } else {
      *same = condition;
    }
  }
}

void ApiObjects::refresh_node() { set_version(version_ + 1); }

std::size_t ApiObjects::holders() const {
  const json::json_pointer holders("/status/holders");
  return gpu_node_.contains(holders) ? gpu_node_[holders].size() : 0;
}

bool ApiObjects::is_node_written() const {
  return node_["metadata"]["labels"].size() > first_labels_ &&
         node_["status"]["conditions"].size() > first_conditions_;
}

}  // namespace tranche::bench
