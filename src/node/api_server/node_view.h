// SPDX-License-Identifier: Apache-2.0
//
// The fields of a Node object that the agent uses. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "kube/json.h"

namespace tranche::node {

struct NodeConditionView {
  std::string status;  // "True", "False", "Unknown"
  std::string reason;
  std::string message;
  std::string last_transition;  // RFC 3339

  bool operator==(const NodeConditionView&) const = default;
};

struct NodeView {
  std::string name;
  std::string uid;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> capacity;  // quantities as text, by resource
  std::map<std::string, std::string> allocatable;
  std::map<std::string, NodeConditionView> conditions;  // by type

  bool operator==(const NodeView&) const = default;
};

// What is missing or of another type is empty.
NodeView node_view(const Json& node);

// Removes what node_view() does not read: a Node lists every image of its node, and every field
// manager.
void strip_node(Json& node);

}  // namespace tranche::node
