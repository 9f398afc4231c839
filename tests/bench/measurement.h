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
#include "bench/rest.h"

namespace tranche::bench {

struct Timing {
  double p50_us = 0;
  double p99_us = 0;

  bool operator==(const Timing&) const = default;
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

// Of the agent with the API features or without, on a node with pods.
struct ApiSide {
  MemoryFigures memory;  // after the rest
  Rest rest;

  bool operator==(const ApiSide&) const = default;
};

struct ApiMeasurement {
  std::string scenario;
  ApiSide on;
  ApiSide off;
  // At the API server, at rest.
  double writes_per_min = 0;
  double written_bytes_per_min = 0;

  bool operator==(const ApiMeasurement&) const = default;
};

struct Results {
  std::vector<Measurement> measurements;
  std::optional<ApiMeasurement> api;
  // What the programs' files load, in bytes.
  std::uint64_t agent_program = 0;
  std::uint64_t floor_program = 0;
};

}  // namespace tranche::bench
