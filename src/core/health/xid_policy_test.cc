// SPDX-License-Identifier: Apache-2.0
#include "core/health/xid_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::core {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr unsigned kFallenOffTheBus = 79;
constexpr unsigned kApplicationErrors[] = {13, 31, 43, 45, 68, 109};

TEST(XidPolicy, CountsAllButTheApplicationErrorsByDefault) {
  const XidPolicy policy = parse_xid_policy({.disable = "", .enable = ""}).policy;
  EXPECT_EQ(policy, XidPolicy{});
  EXPECT_TRUE(policy.counts(kFallenOffTheBus));
  EXPECT_TRUE(policy.counts(0));
  for (const unsigned xid : kApplicationErrors) EXPECT_FALSE(policy.counts(xid)) << xid;
}

TEST(XidPolicy, IgnoresDisabledNumbersBesidesTheDefaultOnes) {
  const XidPolicy policy = parse_xid_policy({.disable = "48, 79 ,", .enable = ""}).policy;
  EXPECT_FALSE(policy.counts(48));
  EXPECT_FALSE(policy.counts(kFallenOffTheBus));
  EXPECT_FALSE(policy.counts(13));
  EXPECT_TRUE(policy.counts(62));
}

TEST(XidPolicy, CountsEnabledNumbersEvenFromTheDefaultOnes) {
  const XidPolicy policy = parse_xid_policy({.disable = "79", .enable = "13,79"}).policy;
  EXPECT_TRUE(policy.counts(13));
  EXPECT_TRUE(policy.counts(kFallenOffTheBus));
  EXPECT_FALSE(policy.counts(31));
}

TEST(XidPolicy, IgnoresEverythingWhenAllIsDisabled) {
  for (const char* word : {"all", "xids", "ALL", "Xids", "79,all"}) {
    const XidPolicy policy = parse_xid_policy({.disable = word, .enable = ""}).policy;
    EXPECT_FALSE(policy.counts(kFallenOffTheBus)) << word;
    EXPECT_FALSE(policy.counts(48)) << word;
  }
}

TEST(XidPolicy, CountsOnlyTheEnabledOnesWhenAllIsDisabled) {
  const XidPolicy policy = parse_xid_policy({.disable = "all", .enable = "79,48"}).policy;
  EXPECT_TRUE(policy.counts(kFallenOffTheBus));
  EXPECT_TRUE(policy.counts(48));
  EXPECT_FALSE(policy.counts(62));
}

TEST(XidPolicy, CountsEverythingButDisabledNumbersWhenAllIsEnabled) {
  const XidPolicy policy = parse_xid_policy({.disable = "48", .enable = "all"}).policy;
  EXPECT_TRUE(policy.counts(13));
  EXPECT_TRUE(policy.counts(kFallenOffTheBus));
  EXPECT_FALSE(policy.counts(48));
  EXPECT_TRUE(
      parse_xid_policy({.disable = "all", .enable = "all"}).policy.counts(kFallenOffTheBus));
}

TEST(XidPolicy, IgnoresAnItemThatIsNoNumberWithAWarning) {
  for (const std::string word : {"some", "-1", "79x", "7 9", "99999999999"}) {
    const ParsedXids disabled = parse_xid_policy({.disable = "48," + word + ",62"});
    EXPECT_FALSE(disabled.policy.counts(48)) << word;
    EXPECT_FALSE(disabled.policy.counts(62)) << word;
    EXPECT_TRUE(disabled.policy.counts(kFallenOffTheBus)) << word;
    EXPECT_THAT(disabled.warnings,
                ElementsAre("DP_DISABLE_HEALTHCHECKS: '" + word +
                            "' is ignored: it is no XID, which is a number, nor 'all' nor 'xids'"));
    const ParsedXids enabled = parse_xid_policy({.enable = word + ",13"});
    EXPECT_TRUE(enabled.policy.counts(13)) << word;
    EXPECT_THAT(enabled.warnings, ElementsAre(HasSubstr("DP_ENABLE_HEALTHCHECKS: '" + word)));
  }
}

// Google's plugin: 48, and what XID_CONFIG lists, spaces allowed.
TEST(XidPolicy, CountsGooglesCriticalXids) {
  const ParsedXids parsed = parse_xid_policy({.google_critical = "61,  31,x"});
  EXPECT_TRUE(parsed.policy.counts(31)) << "an application error";
  EXPECT_TRUE(parsed.policy.counts(61));
  EXPECT_TRUE(parsed.policy.counts(kFallenOffTheBus)) << "as without it";
  EXPECT_FALSE(parsed.policy.counts(13));
  EXPECT_THAT(parsed.warnings,
              ElementsAre("XID_CONFIG: 'x' is ignored: it is no XID, which is a number"));
  EXPECT_THAT(parse_xid_policy({.google_critical = "all"}).warnings, SizeIs(1));
}

// For those who want Google's list and nothing else.
TEST(XidPolicy, CountsOnlyGooglesCriticalXidsWhenAllIsDisabled) {
  const XidPolicy policy = parse_xid_policy({.disable = "all", .google_critical = "61"}).policy;
  EXPECT_TRUE(policy.counts(61));
  EXPECT_TRUE(policy.counts(48));
  EXPECT_FALSE(policy.counts(kFallenOffTheBus));
}

}  // namespace
}  // namespace tranche::core
