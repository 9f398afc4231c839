// SPDX-License-Identifier: Apache-2.0
#include "node/api_server/own_node.h"

#include <chrono>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "kube/object_watch.h"

namespace tranche::node {
namespace {

// Reasons that are logged of one outage. A server that restarts gives a few, one after the other.
constexpr std::size_t kMostReasons = 4;
// A Node as JSON. etcd takes 1.5 MiB.
constexpr std::size_t kLongestLine = 4U << 20U;
// Servers behind one address that differ for good are logged no more often.
constexpr std::chrono::minutes kRewoundAgain{10};

}  // namespace

OwnNode::OwnNode(std::string name, std::function<void()> changed, Log& log)
    : name_(std::move(name)), changed_(std::move(changed)), log_(log) {}

void OwnNode::run(ApiClient& client, const std::stop_token& stop) {
  std::minstd_rand dice(std::random_device{}());
  std::set<std::string> logged;  // reasons of this outage
  std::optional<std::chrono::steady_clock::time_point> rewound_at;
  ObjectWatch watch(
      client,
      {.path = "/api/v1/nodes",
       .query = {{"fieldSelector", "metadata.name=" + name_}},
       .longest_line = kLongestLine,
       .lists_after_failure = true,
       .only_name = name_},
      {.changed =
           [this](const ObjectChanges& changes, bool is_complete) {
             OwnNodeState state = *state_.get().value;
             state.is_known = state.is_known || is_complete;
             for (const ObjectChange& change : changes) {
               if (change.key != name_) continue;
               state.node = change.object ? std::optional(node_view(*change.object)) : std::nullopt;
               state.is_known = true;
             }
             publish(std::move(state));
           },
       .trouble =
           [&](const std::string& problem) {
             if (problem.empty()) {
               log_.info("watching this node at the API server again", {{"node", name_}});
               logged.clear();
             } else if (logged.size() < kMostReasons && logged.insert(problem).second) {
               log_.warning("cannot watch this node at the API server; trying again",
                            {{"node", name_}, {"reason", problem}});
             }
             OwnNodeState state = *state_.get().value;
             state.problem = problem;
             publish(std::move(state));
           },
       .rewound =
           [&] {
             const auto now = std::chrono::steady_clock::now();
             if (!rewound_at || now - *rewound_at >= kRewoundAgain) {
               rewound_at = now;
               log_.warning(
                   "the API server has older objects than before, as after a restore from a "
                   "backup; what this node published is written again",
                   {{"node", name_}});
             }
             OwnNodeState state = *state_.get().value;
             ++state.rewinds;
             publish(std::move(state));
           },
       .strip = strip_node,
       .chance = [&] { return std::uniform_real_distribution<>()(dice); }});
  watch.run(stop);
}

void OwnNode::publish(OwnNodeState state) {
  if (state_.publish(std::move(state))) changed_();
}

}  // namespace tranche::node
