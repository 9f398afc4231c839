// SPDX-License-Identifier: Apache-2.0
#include "node/api_server/node_view.h"

namespace tranche::node {
namespace {

std::map<std::string, std::string> texts(const Json* object) {
  std::map<std::string, std::string> found;
  if (object == nullptr || !object->is_object()) return found;
  for (const auto& [key, value] : object->items()) {
    if (value.is_string()) found[key] = value.get<std::string>();
  }
  return found;
}

}  // namespace

NodeView node_view(const Json& node) {
  NodeView view;
  if (const Json* metadata = member(node, "metadata")) {
    view.name = text_at(*metadata, "name");
    view.uid = text_at(*metadata, "uid");
    view.labels = texts(member(*metadata, "labels"));
  }
  const Json* status = member(node, "status");
  if (status == nullptr) return view;
  view.capacity = texts(member(*status, "capacity"));
  view.allocatable = texts(member(*status, "allocatable"));
  const Json* conditions = member(*status, "conditions");
  if (conditions == nullptr || !conditions->is_array()) return view;
  for (const Json& condition : *conditions) {
    const std::string type = text_at(condition, "type");
    if (type.empty()) continue;
    view.conditions[type] = {.status = text_at(condition, "status"),
                             .reason = text_at(condition, "reason"),
                             .message = text_at(condition, "message"),
                             .last_transition = text_at(condition, "lastTransitionTime")};
  }
  return view;
}

void strip_node(Json& node) {
  if (!node.is_object()) return;
  node.erase("spec");
  if (const auto metadata = node.find("metadata");
      metadata != node.end() && metadata->is_object()) {
    metadata->erase("managedFields");
    metadata->erase("annotations");
  }
  if (const auto status = node.find("status"); status != node.end() && status->is_object()) {
    status->erase("images");
    status->erase("volumesAttached");
    status->erase("volumesInUse");
  }
}

}  // namespace tranche::node
