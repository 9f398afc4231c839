// SPDX-License-Identifier: Apache-2.0
//
// From resolved settings to the modules' option structs, with the checks that
// need more than one setting. Pure.
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
  std::optional<Origin> profile_origin;  // of the policy that the profile made, if it did
  std::vector<std::string> notices;
  std::vector<std::string> warnings;
  std::vector<std::string> problems;  // when there is one, nothing else counts
};

// Defaults that follow from other settings are put into `resolved` too, so that
// it tells what is in effect.
Built build_settings(Resolved& resolved, const SharingSections& sharing);

}  // namespace tranche::programs
