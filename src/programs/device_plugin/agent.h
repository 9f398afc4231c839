// SPDX-License-Identifier: Apache-2.0
//
// The agent: reads the driver, serves the kubelet, follows its configuration,
// until it is asked to stop. Wires the modules and owns the life cycle.
#pragma once

#include "os/log.h"
#include "programs/settings/load.h"

namespace tranche::programs {

// Runs until a signal ends it; gives the exit code. `sources` are read again
// when the configuration file changes.
int run_agent(const Sources& sources, const Loaded& loaded, Log& log);

}  // namespace tranche::programs
