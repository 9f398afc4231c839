// SPDX-License-Identifier: Apache-2.0
//
// What is known of the MPS daemons at one moment: for grants, and for people.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grant/node_facts.h"
#include "mps/plan.h"

namespace tranche {

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
  std::string last_problem;  // the last there was, also when it is over
  bool adopted = false;      // it is older than this agent
  int pid = 0;
  std::optional<int> server_pid;  // there is none before the first client
  unsigned clients = 0;

  // Why no container may be sent there; empty when ready.
  std::string problem() const;
  bool operator==(const MpsDaemonStatus&) const = default;
};

struct MpsReport {
  std::vector<MpsDaemonStatus> daemons;      // ours, by name
  std::map<std::string, MpsWiring> wirings;  // by the device's uuid; all daemons

  bool operator==(const MpsReport&) const = default;
};

}  // namespace tranche
