// SPDX-License-Identifier: Apache-2.0
#include "core/health/xid_policy.h"

#include <fmt/core.h>

#include <string>

#include "base/text.h"

namespace tranche::core {
namespace {

struct XidList {
  bool all = false;
  std::set<unsigned> numbers;
};

// Adds invalid items to the warnings; `takes_all`: "all" is a valid item.
XidList parse_list(const std::string& variable, const std::string& text, bool takes_all,
                   std::vector<std::string>& warnings) {
  XidList list;
  for (const std::string& part : split(text, ',')) {
    const std::string word = lower(trim(part));
    if (word.empty()) continue;
    if (takes_all && (word == "all" || word == "xids")) {
      list.all = true;
    } else if (const auto number = parse_number<unsigned>(word)) {
      list.numbers.insert(*number);
    } else {
      warnings.push_back(
          fmt::format("{}: '{}' is ignored: it is no XID, {}", variable, trim(part),
                      takes_all ? "which is a number, nor 'all' nor 'xids'" : "which is a number"));
    }
  }
  return list;
}

}  // namespace

bool XidPolicy::counts(unsigned xid) const {
  if (counted.contains(xid)) return true;
  return !all_ignored && !ignored.contains(xid);
}

ParsedXids parse_xid_policy(const XidVariables& variables) {
  ParsedXids parsed;
  const XidList disabled =
      parse_list("DP_DISABLE_HEALTHCHECKS", variables.disable, true, parsed.warnings);
  const XidList enabled =
      parse_list("DP_ENABLE_HEALTHCHECKS", variables.enable, true, parsed.warnings);
  const XidList critical =
      parse_list("XID_CONFIG", variables.google_critical, false, parsed.warnings);

  XidPolicy& policy = parsed.policy;
  policy.all_ignored = disabled.all;
  policy.ignored.insert(disabled.numbers.begin(), disabled.numbers.end());
  policy.counted = enabled.numbers;
  if (enabled.all) {
    // Everything counts except what is disabled by number; the default list counts too.
    policy.all_ignored = false;
    policy.ignored = disabled.numbers;
  }
  policy.counted.insert(critical.numbers.begin(), critical.numbers.end());
  // Google's plugin counts 48 beside its list.
  if (!critical.numbers.empty()) policy.counted.insert(48);
  return parsed;
}

}  // namespace tranche::core
