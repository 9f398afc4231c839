// SPDX-License-Identifier: Apache-2.0
//
// The folder of one agent under measurement: a simulated node, the configuration and the agent's
// state.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "bench/scenario.h"

namespace tranche::bench {

Status make_node(const Scenario& scenario, const std::string& folder);

// The agent's command line there. `agent` is its program.
std::vector<std::string> agent_command(const std::string& agent, const Scenario& scenario,
                                       const std::string& folder,
                                       const std::string& kubelet_socket);

}  // namespace tranche::bench
