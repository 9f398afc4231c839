// SPDX-License-Identifier: Apache-2.0
//
// The XIDs (the driver's error numbers) that make a GPU unhealthy. As in NVIDIA's plugin: all but
// the application errors 13, 31, 43, 45, 68 and 109, changed by DP_DISABLE_HEALTHCHECKS and
// DP_ENABLE_HEALTHCHECKS. Unlike there, "disable all, enable some" works as written. Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace tranche::core {

struct XidPolicy {
  bool all_ignored = false;  // then only `counted` counts
  std::set<unsigned> ignored = {13, 31, 43, 45, 68, 109};
  std::set<unsigned> counted;  // wins over both

  bool counts(unsigned xid) const;
  bool operator==(const XidPolicy&) const = default;
};

// The values of the variables. The first two are empty, "all", "xids" or a list of
// numbers with commas.
struct XidVariables {
  std::string disable;          // DP_DISABLE_HEALTHCHECKS
  std::string enable;           // DP_ENABLE_HEALTHCHECKS
  std::string google_critical;  // XID_CONFIG of Google's plugin: numbers with commas
};

struct ParsedXids {
  XidPolicy policy;
  std::vector<std::string> warnings;  // of items that are no XID; they are ignored
};

// Ignores invalid items with a warning, as NVIDIA's plugin does: a typo must not remove the GPUs
// of a node.
ParsedXids parse_xid_policy(const XidVariables& variables);

}  // namespace tranche::core
