// SPDX-License-Identifier: Apache-2.0
//
// Profiles: sets of defaults to replace other plugins. --profile or the name of the program selects
// one; every default can be overridden. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/sharing/policy.h"
#include "os/settings/resolved.h"

namespace tranche::programs {

// The profile of the plugin whose program has this name; ignores its folder. Empty: none.
std::optional<std::string_view> profile_of_program(std::string_view program);

// Replaces the table's defaults with the profile's. `program` is our own name, which selects the
// profile if none is given.
void apply_profile(std::string_view program, Resolved& resolved);

// The exposure of node pods with the profile nested-host.
Exposure profile_exposure(const Resolved& resolved);

struct ProfileOffer {
  std::optional<ResourcePolicy> policy;  // empty: the profile has none
  Origin origin;                         // of the policy
  std::vector<std::string> notices;
  std::vector<std::string> problems;
};

// What the profile offers. Notices name settings for it that have no effect; `is_replaced`: because
// the file has policies.
ProfileOffer profile_offer(const Resolved& resolved, bool is_replaced);

}  // namespace tranche::programs
