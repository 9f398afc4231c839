// SPDX-License-Identifier: Apache-2.0
#include "mps/questions.h"

#include "mps/control_words.h"

namespace tranche {

Status give_limits(const Ask& ask, const MemoryLimits& limits) {
  const Result<std::string> servers = ask("get_server_list");
  if (!servers) return servers.error();
  for (unsigned ordinal = 0; ordinal < limits.size(); ++ordinal) {
    // The servers to come first: one that starts in between is among those
    // that take the default.
    const std::optional<std::uint64_t> limit = limits[ordinal];
    if (auto set = ask(set_default_limit(ordinal, limit)); !set) return set.error();
    if (!limit) continue;
    for (const int server : parse_pids(*servers)) {
      if (auto set = ask(set_server_limit(server, ordinal, *limit)); !set) return set.error();
    }
  }
  return Done{};
}

Result<ServersSeen> look_at_servers(const Ask& ask) {
  const Result<std::string> list = ask("get_server_list");
  if (!list) return list.error();
  ServersSeen seen{.servers = parse_pids(*list)};
  for (const int server : seen.servers) {
    const std::string number = std::to_string(server);
    const Result<std::string> state = ask("get_server_status " + number);
    if (!state) return state.error();
    if (std::string problem = server_problem(server, *state); !problem.empty()) {
      return Error{ErrorCode::kUnavailable, std::move(problem)};
    }
    const Result<std::string> clients = ask("get_client_list " + number);
    if (!clients) return clients.error();
    seen.clients += static_cast<unsigned>(parse_pids(*clients).size());
  }
  return seen;
}

}  // namespace tranche
