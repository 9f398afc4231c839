// SPDX-License-Identifier: Apache-2.0
//
// The agent's link to the API server: finds the way to it, watches this node's Node, and writes
// what the agent reports. Created where a feature needs it; everything else works without it.
//
// Its threads are its own. Thread-safe.
#pragma once

#include <stop_token>
#include <string>
#include <thread>

#include "node/api_server/api_access.h"
#include "node/api_server/node_reporter.h"
#include "node/api_server/own_node.h"
#include "os/log.h"
#include "os/wake_fd.h"

namespace tranche::programs {

class ApiLink {
 public:
  // `node` is the Node's name. Tries until there is a way: a kubeconfig may be written later.
  ApiLink(ApiAccessSources sources, std::string node, Log& log);

  const Latest<OwnNodeState>& own_node() const { return own_node_.state(); }
  const std::string& node_name() const { return own_node_.name(); }
  // Rings when own_node() has changed.
  const WakeFd& news() const { return news_; }
  NodeReporter& reporter() { return reporter_; }

 private:
  void run(const std::stop_token& stop);

  const ApiAccessSources sources_;
  Log& log_;
  const WakeFd news_;
  OwnNode own_node_;
  NodeReporter reporter_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace tranche::programs
