// SPDX-License-Identifier: Apache-2.0
//
// What was measured, as values. Times are in the unit that the name says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/process_figures.h"

namespace tranche::bench {

struct Timing {
  double p50_us = 0;
  double p99_us = 0;

  bool operator==(const Timing&) const = default;
};

struct Rest {
  double cpu_us_per_s = 0;     // 10,000 would be one percent of a core
  double driver_us_per_s = 0;  // of that, in calls of the simulated driver
  double wakes_per_s = 0;

  bool operator==(const Rest&) const = default;
};

// Of the agent or of the floor, in one scenario.
struct Side {
  double start_to_registered_ms = 0;  // from its fork to its Register call
  double registered_to_list_ms = 0;   // from there to the first list
  Timing allocate;
  Timing prefer;
  MemoryFigures listed;  // when the list is sent and some pods have come, settled
  MemoryFigures worked;  // after everything, settled
  std::optional<Rest> rest;
  double restart_to_registered_ms = 0;  // from a new kubelet's socket to the Register call
  double stop_ms = 0;                   // from SIGTERM to its end, with a stream open

  bool operator==(const Side&) const = default;
};

struct Measurement {
  std::string scenario;
  std::size_t devices = 0;
  std::size_t list_bytes = 0;
  bool replicated = false;
  Side agent;
  Side floor;

  bool operator==(const Measurement&) const = default;
};

struct Results {
  std::vector<Measurement> measurements;
  // What the programs' files load, in bytes.
  std::uint64_t agent_program = 0;
  std::uint64_t floor_program = 0;
};

}  // namespace tranche::bench
