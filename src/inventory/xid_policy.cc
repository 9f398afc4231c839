// SPDX-License-Identifier: Apache-2.0
#include "inventory/xid_policy.h"

#include <string>

#include "base/text.h"

namespace tranche {
namespace {

struct XidList {
  bool all = false;
  std::set<unsigned> numbers;
};

Result<XidList> parse_list(std::string_view text) {
  XidList list;
  for (const std::string& part : split(text, ',')) {
    const std::string word = lower(trim(part));
    if (word.empty()) continue;
    if (word == "all" || word == "xids") {
      list.all = true;
    } else if (const auto number = parse_number<unsigned>(word)) {
      list.numbers.insert(*number);
    } else {
      return Error{ErrorCode::kInvalidArgument,
                   "'" + part + "' is neither an XID number nor 'all' nor 'xids'"};
    }
  }
  return list;
}

}  // namespace

bool XidPolicy::counts(unsigned xid) const {
  if (counted.contains(xid)) return true;
  return !all_ignored && !ignored.contains(xid);
}

Result<XidPolicy> parse_xid_policy(std::string_view disable, std::string_view enable) {
  const Result<XidList> disabled = parse_list(disable);
  if (!disabled) return disabled.error().in("DP_DISABLE_HEALTHCHECKS");
  const Result<XidList> enabled = parse_list(enable);
  if (!enabled) return enabled.error().in("DP_ENABLE_HEALTHCHECKS");

  XidPolicy policy;
  policy.all_ignored = disabled->all;
  policy.ignored.insert(disabled->numbers.begin(), disabled->numbers.end());
  policy.counted = enabled->numbers;
  if (enabled->all) {
    // Everything counts but what is disabled by number; the default list too.
    policy.all_ignored = false;
    policy.ignored = disabled->numbers;
  }
  return policy;
}

}  // namespace tranche
