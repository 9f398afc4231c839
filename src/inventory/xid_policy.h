// SPDX-License-Identifier: Apache-2.0
//
// Which XIDs (the driver's error numbers) make a GPU unhealthy. As NVIDIA's
// plugin: all but the application errors 13, 31, 43, 45, 68 and 109, changed by
// DP_DISABLE_HEALTHCHECKS and DP_ENABLE_HEALTHCHECKS. Unlike there, "disable
// all, enable some" does what it says.
#pragma once

#include <set>
#include <string_view>

#include "base/result.h"

namespace tranche {

struct XidPolicy {
  bool all_ignored = false;  // then only `counted` counts
  std::set<unsigned> ignored = {13, 31, 43, 45, 68, 109};
  std::set<unsigned> counted;  // wins over both

  bool counts(unsigned xid) const;
  bool operator==(const XidPolicy&) const = default;
};

// From the values of the two variables. Each is empty, "all", "xids" or a list
// of numbers with commas; a word that is none of these is an error.
Result<XidPolicy> parse_xid_policy(std::string_view disable, std::string_view enable);

}  // namespace tranche
