// SPDX-License-Identifier: Apache-2.0
//
// Profiles: the systems whose place this program takes, each as a set of
// defaults. Which one is meant follows from --profile or from the name that the
// program is called by; everything in it can be given otherwise. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/sharing/policy.h"
#include "os/settings/resolved.h"

namespace tranche::programs {

// The profile of the system that has a program of this name; the path before
// it plays no part. Empty: of none.
std::optional<std::string_view> profile_of_program(std::string_view program);

// Puts the profile's defaults in the place of the table's. `program` is what this one is
// called by, which chooses the profile where none is given.
void apply_profile(std::string_view program, Resolved& resolved);

// Of the node pods that the profile nested-host serves.
Exposure profile_exposure(const Resolved& resolved);

struct ProfileOffer {
  std::optional<ResourcePolicy> policy;  // what it offers, if it says that at all
  Origin origin;                         // of the policy
  std::vector<std::string> notices;
  std::vector<std::string> problems;
};

// What the profile offers. Settings that only shape this are pointed out where
// they have no effect; `is_replaced`: because the file has policies of its own.
ProfileOffer profile_offer(const Resolved& resolved, bool is_replaced);

}  // namespace tranche::programs
