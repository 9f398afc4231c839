// SPDX-License-Identifier: Apache-2.0
//
// The state of the MPS daemons at one moment, for grants and for people.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/grant/node_facts.h"
#include "core/mps/mps_plan.h"

namespace tranche::core {

enum class MpsState {
  kStarting,
  kReady,    // a client got through
  kTrouble,  // and is being restarted
  kStopping,
  kStopped,
};
std::string_view to_string(MpsState state);

struct MpsDaemonStatus {
  MpsDaemonPlan plan;
  MpsState state = MpsState::kStarting;
  std::chrono::system_clock::time_point since;
  unsigned restarts = 0;
  std::string last_problem;  // kept when it is over
  std::chrono::system_clock::time_point last_problem_at;
  bool adopted = false;  // an earlier agent started it
  int pid = 0;
  std::optional<int> server_pid;  // empty before the first client
  unsigned clients = 0;
  MpsRules rules;
  // Clients that are or may become root on the node, by pid: they can raise limits.
  std::vector<int> root_clients;
  bool sees_clients = true;  // else their users are not known
  // Commands to the daemon that change something and were not ours, and the last of them.
  unsigned foreign_commands = 0;
  std::string foreign_command;

  // The clients to which memory limits apply now: "all clients" or "all clients but 7, 9 (root)".
  std::string limits_hold_for() const;
  // Why no container may use it; empty when ready.
  std::string problem() const;
  bool operator==(const MpsDaemonStatus&) const = default;
};

struct MpsReport {
  std::vector<MpsDaemonStatus> daemons;      // ours, by name
  std::map<std::string, MpsWiring> wirings;  // by the device's uuid; all daemons

  bool operator==(const MpsReport&) const = default;
};

}  // namespace tranche::core
