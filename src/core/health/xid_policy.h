// SPDX-License-Identifier: Apache-2.0
//
// Which XIDs (the driver's error numbers) make a GPU unhealthy. As NVIDIA's plugin: all but
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

// An item that is none of these is ignored with a warning, as NVIDIA's plugin
// ignores it: a typing error must not take the GPUs of a node away.
ParsedXids parse_xid_policy(const XidVariables& variables);

}  // namespace tranche::core
