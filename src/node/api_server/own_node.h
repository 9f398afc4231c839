// SPDX-License-Identifier: Apache-2.0
//
// Watches this node's own Node object: one object by its name, never the cluster's nodes.
//
// Thread-safe: run() belongs to one thread, state() to any.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "kube/api_client.h"
#include "node/api_server/node_view.h"
#include "os/latest.h"
#include "os/log.h"

namespace tranche::node {

struct OwnNodeState {
  bool is_known = false;         // the API server has answered
  std::optional<NodeView> node;  // empty: unknown, or there is no such Node
  std::string problem;           // why it cannot be watched now; empty: it can
  unsigned rewinds = 0;          // how often the cluster was restored from a backup

  bool operator==(const OwnNodeState&) const = default;
};

class OwnNode {
 public:
  // `changed` is called from the watching thread.
  OwnNode(std::string name, std::function<void()> changed, Log& log);

  // Until `stop`. Logs trouble once for each reason, and its end.
  void run(ApiClient& client, const std::stop_token& stop);

  const Latest<OwnNodeState>& state() const { return state_; }
  const std::string& name() const { return name_; }

 private:
  void publish(OwnNodeState state);

  const std::string name_;
  const std::function<void()> changed_;
  Log& log_;
  Latest<OwnNodeState> state_;
};

}  // namespace tranche::node
