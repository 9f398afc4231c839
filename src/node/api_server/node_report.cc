// SPDX-License-Identifier: Apache-2.0
#include "node/api_server/node_report.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "base/text.h"
#include "core/report/names.h"

namespace tranche::node {
namespace {

Request applied(const std::string& path, const std::string& body) {
  return {.verb = Verb::kPatch,
          .target = with_query(path, {{"fieldManager", kFieldManager}, {"force", "true"}}),
          .content_type = kApplyPatch,
          .body = body};
}

std::string node_path(const std::string& name) { return "/api/v1/nodes/" + url_escaped(name); }

std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Of a whole number, which the server writes as it likes: 1000 is "1k".
std::optional<std::uint64_t> whole_quantity(std::string_view text) {
  constexpr std::string_view kSuffixes = "kMGTPE";
  std::uint64_t factor = 1;
  if (const std::size_t at = text.empty() ? std::string_view::npos : kSuffixes.find(text.back());
      at != std::string_view::npos) {
    for (std::size_t i = 0; i <= at; ++i) factor *= 1000;
    text.remove_suffix(1);
  }
  const std::optional<std::uint64_t> number = parse_number<std::uint64_t>(text);
  if (!number || *number > std::numeric_limits<std::uint64_t>::max() / factor) return std::nullopt;
  return *number * factor;
}

// What is left out would be removed.
Json quantities(const std::map<std::string, std::optional<std::uint64_t>>& counts,
                const std::map<std::string, std::string>& now) {
  Json quantities = Json::object();
  for (const auto& [name, count] : counts) {
    const auto known = now.find(name);
    if (count) {
      quantities[name] = std::to_string(*count);
    } else if (known != now.end()) {
      quantities[name] = known->second;
    }
  }
  return quantities;
}

Json metadata_of(const NodeIdentity& node) { return {{"name", node.name}, {"uid", node.uid}}; }

}  // namespace

Request apply_gpu_node(const NodeIdentity& node) {
  const Json owner{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node.name}, {"uid", node.uid}};
  return applied(
      std::string(kGpuNodesPath) + "/" + url_escaped(node.name),
      dumped({{"apiVersion", kApiGroupVersion},
              {"kind", kGpuNodeKind},
              {"metadata", {{"name", node.name}, {"ownerReferences", Json::array({owner})}}}}));
}

Request apply_gpu_node_status(const std::string& node, const std::string& status) {
  const std::string head = dumped(
      {{"apiVersion", kApiGroupVersion}, {"kind", kGpuNodeKind}, {"metadata", {{"name", node}}}});
  // The status is JSON already, and may be large.
  return applied(std::string(kGpuNodesPath) + "/" + url_escaped(node) + "/status",
                 head.substr(0, head.size() - 1) + ",\"status\":" + status + "}");
}

Request apply_labels(const NodeIdentity& node, const std::map<std::string, std::string>& labels) {
  Json metadata = metadata_of(node);
  metadata["labels"] = labels;
  return applied(node_path(node.name),
                 dumped({{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", metadata}}));
}

Request apply_node_status(const NodeIdentity& node, const NodeReport& report, const NodeView& view,
                          const std::string& now) {
  // Always all three, if empty. The API server removes what was applied before and is left out; a
  // whole map goes if nobody is known to own its other entries, as in a Node that was just made.
  Json status{
      {"conditions", Json::array()}, {"capacity", Json::object()}, {"allocatable", Json::object()}};
  if (!report.condition_type.empty()) {
    const auto known = view.conditions.find(report.condition_type);
    const bool is_same = known != view.conditions.end() &&
                         known->second.status == report.condition.status &&
                         !known->second.last_transition.empty();
    status["conditions"] =
        Json::array({{{"type", report.condition_type},
                      {"status", report.condition.status},
                      {"reason", report.condition.reason},
                      {"message", report.condition.message},
                      {"lastHeartbeatTime", now},
                      {"lastTransitionTime", is_same ? known->second.last_transition : now}}});
  }
  if (report.extended_resources) {
    status["capacity"] = quantities(*report.extended_resources, view.capacity);
    status["allocatable"] = quantities(*report.extended_resources, view.allocatable);
  }
  return applied(node_path(node.name) + "/status", dumped({{"apiVersion", "v1"},
                                                           {"kind", "Node"},
                                                           {"metadata", metadata_of(node)},
                                                           {"status", status}}));
}

bool has_labels(const NodeView& view, const std::map<std::string, std::string>& labels) {
  return std::ranges::all_of(labels, [&](const auto& label) {
    const auto found = view.labels.find(label.first);
    return found != view.labels.end() && found->second == label.second;
  });
}

bool has_node_status(const NodeView& view, const NodeReport& report) {
  if (!report.condition_type.empty()) {
    const auto known = view.conditions.find(report.condition_type);
    if (known == view.conditions.end() || known->second.status != report.condition.status ||
        known->second.reason != report.condition.reason ||
        known->second.message != report.condition.message) {
      return false;
    }
  }
  if (!report.extended_resources) return true;
  return std::ranges::all_of(*report.extended_resources, [&](const auto& resource) {
    if (!resource.second) return true;
    const auto is_there = [&](const std::map<std::string, std::string>& quantities) {
      const auto found = quantities.find(resource.first);
      return found != quantities.end() && whole_quantity(found->second) == resource.second;
    };
    return is_there(view.capacity) && is_there(view.allocatable);
  });
}

}  // namespace tranche::node
