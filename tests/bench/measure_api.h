// SPDX-License-Identifier: Apache-2.0
//
// Runs the agent with everything that it does at the API server, and beside it the agent without,
// each on a node with pods, and measures them at rest.
#pragma once

#include <string>

#include "base/result.h"
#include "bench/measurement.h"
#include "bench/scenario.h"

namespace tranche::bench {

// `folder` is empty and ours; its path is short, for there will be sockets.
Result<ApiMeasurement> measure_api(const std::string& agent, const ApiScenario& scenario,
                                   const std::string& folder);

}  // namespace tranche::bench
