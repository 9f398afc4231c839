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

#include "config/resolved.h"
#include "sharing/policy.h"

namespace tranche {

// The profile of the system that has a program of this name; the path before
// it plays no part. Empty: of none.
std::optional<std::string_view> profile_of_program(std::string_view program);

// The default that a profile has for a setting, where it is not the table's.
// `by_runtime`: containers get their GPUs from NVIDIA's runtime, as with
// Deepomatic's second plugin.
std::optional<std::string_view> profile_default(std::string_view profile, std::string_view setting,
                                                bool by_runtime);

// Whether the factor comes from the variable of Deepomatic's second plugin.
bool is_of_second_plugin(const Setting& factor);

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

}  // namespace tranche
