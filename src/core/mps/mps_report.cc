// SPDX-License-Identifier: Apache-2.0
#include "core/mps/mps_report.h"

#include <fmt/core.h>

#include "base/text.h"

namespace tranche::core {

std::string_view to_string(MpsState state) {
  switch (state) {
    case MpsState::kStarting: return "starting";
    case MpsState::kReady: return "ready";
    case MpsState::kTrouble: return "in trouble";
    case MpsState::kStopping: return "stopping";
    case MpsState::kStopped: return "stopped";
  }
  return "";
}

std::string MpsDaemonStatus::limits_hold_for() const {
  if (!root_clients.empty()) {
    std::vector<std::string> pids;
    for (const int client : root_clients) pids.push_back(std::to_string(client));
    return fmt::format("all clients but {} (root)", join(pids, ", "));
  }
  if (rules.clients == MpsClients::kNonRoot || !sees_clients) return "non-root clients";
  return clients == 0 ? "non-root clients" : "all clients";
}

std::string MpsDaemonStatus::problem() const {
  if (state == MpsState::kReady) return "";
  const std::string text = fmt::format("the MPS daemon {} is {}", plan.name, to_string(state));
  return last_problem.empty() ? text : fmt::format("{}: {}", text, last_problem);
}

}  // namespace tranche::core
