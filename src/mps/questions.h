// SPDX-License-Identifier: Apache-2.0
//
// What takes a control daemon several questions. `Ask` puts one to it and has
// its answer; an answer that does not come ends the whole.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "mps/plan.h"

namespace tranche {

using Ask = std::function<Result<std::string>(const std::string& question)>;

// For servers to come, and for those that run.
Status give_limits(const Ask& ask, const MemoryLimits& limits);

struct ServersSeen {
  std::vector<int> servers;
  unsigned clients = 0;

  bool operator==(const ServersSeen&) const = default;
};
// A server that says that something is wrong with it is an error.
Result<ServersSeen> look_at_servers(const Ask& ask);

}  // namespace tranche
