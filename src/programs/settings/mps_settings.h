// SPDX-License-Identifier: Apache-2.0
//
// Decides who runs the MPS daemons, from several settings. Pure.
#pragma once

#include <string>
#include <vector>

#include "core/settings/mps_options.h"
#include "os/settings/resolved.h"

namespace tranche::programs {

// Completes the settings of the daemons from each other.
void complete_mps(Resolved& resolved);

struct MpsFindings {
  std::vector<std::string> notices;
  std::vector<std::string> problems;
};
// Sets the options that depend on more than one setting; `options` has the rest.
MpsFindings build_mps_options(const Resolved& resolved, MpsOptions& options);

}  // namespace tranche::programs
