// SPDX-License-Identifier: Apache-2.0
//
// Runs the agent and the floor side by side in one scenario. They take turns
// call by call, so that whatever else the machine does is felt by both.
#pragma once

#include <string>

#include "base/result.h"
#include "bench/measurement.h"
#include "bench/scenario.h"

namespace tranche::bench {

struct Programs {
  std::string agent;
  std::string floor;
};

// `folder` is empty and ours; its path is short, for there will be sockets.
Result<Measurement> measure(const Programs& programs, const Scenario& scenario,
                            const std::string& folder);

}  // namespace tranche::bench
