// SPDX-License-Identifier: Apache-2.0
//
// Who runs the MPS daemons, from the settings that say so in one way or
// another. Pure.
#pragma once

#include <string>
#include <vector>

#include "config/resolved.h"
#include "mps/options.h"

namespace tranche {

struct MpsSettings {
  MpsOptions options;
  std::vector<std::string> notices;
  std::vector<std::string> problems;
};

// What follows from other settings is put into `resolved` too.
MpsSettings mps_settings(Resolved& resolved);

}  // namespace tranche
