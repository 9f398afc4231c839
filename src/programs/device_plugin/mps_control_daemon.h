// SPDX-License-Identifier: Apache-2.0
//
// The program `mps-control-daemon`, which NVIDIA's chart runs beside the plugin:
// the daemons of sharing.mps in NVIDIA's layout. With our own agent it is not
// needed, which runs its daemons itself.
#pragma once

#include <optional>

#include "programs/settings/load.h"

namespace tranche::programs {

// The exit code, where the program was called by that name.
std::optional<int> run_as_mps_control_daemon(const Sources& sources);

}  // namespace tranche::programs
