// SPDX-License-Identifier: Apache-2.0
//
// Turns resolved settings into the modules' option structs, with the checks that need more than one
// setting. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/settings/settings.h"
#include "os/settings/origin.h"
#include "os/settings/resolved.h"
#include "programs/settings/sharing_reader.h"

namespace tranche::programs {

struct Built {
  Settings settings;
  std::optional<Origin> profile_origin;  // of the profile's policy, if there is one
  std::vector<std::string> notices;
  std::vector<std::string> warnings;
  std::vector<std::string> problems;  // if there is one, ignore the rest
};

// Also puts defaults that follow from other settings into `resolved`, so that it has the effective
// values.
Built build_settings(Resolved& resolved, const SharingSections& sharing);

}  // namespace tranche::programs
