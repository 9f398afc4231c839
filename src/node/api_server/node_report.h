// SPDX-License-Identifier: Apache-2.0
//
// What the agent wants the API server to have of this node, and the requests that write it. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/report/node_condition.h"
#include "kube/request.h"
#include "node/api_server/node_view.h"

namespace tranche::node {

// Labels that are not given stay as they are; an empty map removes what was written before.
struct NodeReport {
  std::optional<std::string> gpu_node;  // the status of GpuNode, without the time
  std::optional<std::map<std::string, std::string>> labels;
  std::string condition_type;  // empty: no condition
  NodeCondition condition;
  // A count that is not known leaves what the Node has.
  std::optional<std::map<std::string, std::optional<std::uint64_t>>> extended_resources;

  bool operator==(const NodeReport&) const = default;
};

// The Node that is written to, as it was read: its uid keeps us from writing to another Node that
// has the same name now.
struct NodeIdentity {
  std::string name;
  std::string uid;

  bool operator==(const NodeIdentity&) const = default;
};

// The GpuNode object itself, owned by the Node, so that it is deleted with it.
Request apply_gpu_node(const NodeIdentity& node);
// `status` as formats/gpu_node_json.h writes it.
Request apply_gpu_node_status(const std::string& node, const std::string& status);
Request apply_labels(const NodeIdentity& node, const std::map<std::string, std::string>& labels);
// Condition and extended resources. `now` is RFC 3339; the time of the last transition is kept
// where `view` has the same status already.
Request apply_node_status(const NodeIdentity& node, const NodeReport& report, const NodeView& view,
                          const std::string& now);

// Whether the Node has what was written.
bool has_labels(const NodeView& view, const std::map<std::string, std::string>& labels);
bool has_node_status(const NodeView& view, const NodeReport& report);

}  // namespace tranche::node
