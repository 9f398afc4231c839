// SPDX-License-Identifier: Apache-2.0
//
// Who runs the MPS daemons, from the settings that say so in one way or
// another. Pure.
#pragma once

#include <string>
#include <vector>

#include "core/settings/mps_options.h"
#include "os/settings/resolved.h"

namespace tranche::programs {

// Fills in what was not said about the daemons, from what was.
void complete_mps(Resolved& resolved);

struct MpsFindings {
  std::vector<std::string> notices;
  std::vector<std::string> problems;
};
// What more than one setting decides; `options` has the rest.
MpsFindings build_mps_options(const Resolved& resolved, MpsOptions& options);

}  // namespace tranche::programs
