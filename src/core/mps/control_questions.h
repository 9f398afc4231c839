// SPDX-License-Identifier: Apache-2.0
//
// MPS control operations that need several commands. `Ask` sends one command and returns
// its answer; the first failure aborts.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/mps/mps_plan.h"

namespace tranche::core {

using Ask = std::function<Result<std::string>(const std::string& question)>;

// Sets the limits for later servers and for running ones.
Status set_memory_limits(const Ask& ask, const MemoryLimits& limits);

// Reads the limits of daemon and servers, and sets them again where they may have changed,
// because root in a container can change those of a server. Returns what had changed, in
// words.
Result<std::vector<std::string>> renew_limits(const Ask& ask, const MpsDaemonPlan& plan,
                                              const std::vector<int>& servers);

struct ServersSeen {
  std::vector<int> servers;
  std::vector<int> clients;  // their pids

  bool operator==(const ServersSeen&) const = default;
};
// A server that reports a problem is an error.
Result<ServersSeen> query_servers(const Ask& ask);

}  // namespace tranche::core
