// SPDX-License-Identifier: Apache-2.0
#include "core/mps/control_questions.h"

#include <fmt/core.h>

#include "base/text.h"
#include "core/mps/control_words.h"

namespace tranche::core {
namespace {

// The answer about a limit, if it differs from the value that was set.
std::string difference(std::string_view what, std::string_view answer, const std::string& wanted) {
  const std::string_view seen = trim(answer);
  return fmt::format("{} was {} and not {}", what, seen.empty() ? "none" : seen, wanted);
}

std::string limit_text(std::optional<std::uint64_t> bytes) {
  return bytes ? fmt::format("{}M", *bytes >> 20) : "none";
}

}  // namespace

Status set_memory_limits(const Ask& ask, const MemoryLimits& limits) {
  const Result<std::string> servers = ask("get_server_list");
  if (!servers) return servers.error();
  for (unsigned ordinal = 0; ordinal < limits.size(); ++ordinal) {
    // The default first, so that a server that starts in between gets it.
    const std::optional<std::uint64_t> limit = limits[ordinal];
    if (auto set = ask(set_default_limit(ordinal, limit)); !set) return set.error();
    if (!limit) continue;
    for (const int server : parse_pids(*servers)) {
      if (auto set = ask(set_server_limit(server, ordinal, *limit)); !set) return set.error();
    }
  }
  return Done{};
}

Result<std::vector<std::string>> renew_limits(const Ask& ask, const MpsDaemonPlan& plan,
                                              const std::vector<int>& servers) {
  std::vector<std::string> changes;
  std::vector<std::string> commands;
  for (unsigned ordinal = 0; ordinal < plan.limits.size(); ++ordinal) {
    const std::optional<std::uint64_t> wanted = plan.limits[ordinal];
    const std::string number = std::to_string(ordinal);
    const auto common = ask("get_default_device_pinned_mem_limit " + number);
    if (!common) return common.error();
    if (!shows_limit(*common, wanted)) {
      changes.push_back(
          difference("the default limit of device " + number, *common, limit_text(wanted)));
    }
    commands.push_back(set_default_limit(ordinal, wanted));
    if (!wanted) continue;
    for (const int server : servers) {
      const std::string pid = std::to_string(server);
      const auto own = ask(fmt::format("get_device_pinned_mem_limit {} {}", pid, number));
      if (!own) return own.error();
      if (!shows_limit(*own, wanted)) {
        changes.push_back(difference(fmt::format("server {}'s limit of device {}", pid, number),
                                     *own, limit_text(wanted)));
      }
      commands.push_back(set_server_limit(server, ordinal, *wanted));
    }
  }
  for (const int server : servers) {
    const std::string pid = std::to_string(server);
    const auto own = ask("get_active_thread_percentage " + pid);
    if (!own) return own.error();
    if (shows_percentage(*own, plan.thread_percentage)) continue;
    const std::string wanted = plan.thread_percentage.empty() ? "100" : plan.thread_percentage;
    changes.push_back(difference(fmt::format("server {}'s thread percentage", pid), *own, wanted));
    commands.push_back(set_server_percentage(server, wanted));
  }
  // All at once: the daemon does not answer them, and each line is a command.
  if (commands.empty()) return changes;
  if (const auto set = ask(join(commands, "\n")); !set) return set.error();
  return changes;
}

Result<ServersSeen> query_servers(const Ask& ask) {
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
    const std::vector<int> pids = parse_pids(*clients);
    seen.clients.insert(seen.clients.end(), pids.begin(), pids.end());
  }
  return seen;
}

}  // namespace tranche::core
