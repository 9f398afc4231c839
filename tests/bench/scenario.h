// SPDX-License-Identifier: Apache-2.0
//
// What is measured: nodes from small to as large as the kubelet takes them, and
// how often.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace tranche::bench {

struct Scenario {
  std::string name;
  std::string world;      // of the simulated driver
  unsigned replicas = 0;  // of each GPU
  std::string unit;       // in which each GPU's memory is offered; neither: whole GPUs
  int wanted = 1;         // how many devices GetPreferredAllocation asks for
  int starts = 5;         // of each program
  int allocations = 2000;
  int preferences = 2000;
  // From the last call to the look at its memory: longer than the agent waits
  // before it gives back what it no longer needs.
  std::chrono::milliseconds settle{6000};
  std::chrono::milliseconds rest{0};  // how long they are watched doing nothing

  bool operator==(const Scenario&) const = default;
};

// The agent with its API features beside the agent without them.
struct ApiScenario {
  std::string name;
  Scenario node;
  int pods = 100;  // one share each

  bool operator==(const ApiScenario&) const = default;
};

// The quick ones are for seeing that all of it works, and show the same
// figures of fewer and smaller nodes.
std::vector<Scenario> scenarios(bool quick);
ApiScenario api_scenario(bool quick);

// The agent's configuration file; empty: it needs none.
std::string config_of(const Scenario& scenario);

}  // namespace tranche::bench
