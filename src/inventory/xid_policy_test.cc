// SPDX-License-Identifier: Apache-2.0
#include "inventory/xid_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche {
namespace {

using ::testing::HasSubstr;

constexpr unsigned kFallenOffTheBus = 79;
constexpr unsigned kApplicationErrors[] = {13, 31, 43, 45, 68, 109};

TEST(XidPolicy, CountsAllButTheApplicationErrorsByDefault) {
  const XidPolicy policy = *parse_xid_policy("", "");
  EXPECT_EQ(policy, XidPolicy{});
  EXPECT_TRUE(policy.counts(kFallenOffTheBus));
  EXPECT_TRUE(policy.counts(0));
  for (const unsigned xid : kApplicationErrors) EXPECT_FALSE(policy.counts(xid)) << xid;
}

TEST(XidPolicy, IgnoresDisabledNumbersBesidesTheDefaultOnes) {
  const XidPolicy policy = *parse_xid_policy("48, 79 ,", "");
  EXPECT_FALSE(policy.counts(48));
  EXPECT_FALSE(policy.counts(kFallenOffTheBus));
  EXPECT_FALSE(policy.counts(13));
  EXPECT_TRUE(policy.counts(62));
}

TEST(XidPolicy, CountsEnabledNumbersEvenFromTheDefaultOnes) {
  const XidPolicy policy = *parse_xid_policy("79", "13,79");
  EXPECT_TRUE(policy.counts(13));
  EXPECT_TRUE(policy.counts(kFallenOffTheBus));
  EXPECT_FALSE(policy.counts(31));
}

TEST(XidPolicy, IgnoresEverythingWhenAllIsDisabled) {
  for (const char* word : {"all", "xids", "ALL", "Xids", "79,all"}) {
    const XidPolicy policy = *parse_xid_policy(word, "");
    EXPECT_FALSE(policy.counts(kFallenOffTheBus)) << word;
    EXPECT_FALSE(policy.counts(48)) << word;
  }
}

TEST(XidPolicy, CountsOnlyTheEnabledOnesWhenAllIsDisabled) {
  const XidPolicy policy = *parse_xid_policy("all", "79,48");
  EXPECT_TRUE(policy.counts(kFallenOffTheBus));
  EXPECT_TRUE(policy.counts(48));
  EXPECT_FALSE(policy.counts(62));
}

TEST(XidPolicy, CountsEverythingButDisabledNumbersWhenAllIsEnabled) {
  const XidPolicy policy = *parse_xid_policy("48", "all");
  EXPECT_TRUE(policy.counts(13));
  EXPECT_TRUE(policy.counts(kFallenOffTheBus));
  EXPECT_FALSE(policy.counts(48));
  EXPECT_TRUE(parse_xid_policy("all", "all")->counts(kFallenOffTheBus));
}

TEST(XidPolicy, NamesTheVariableAndTheWordThatIsWrong) {
  for (const char* word : {"some", "-1", "79x", "7 9", "99999999999"}) {
    const auto disabled = parse_xid_policy(word, "");
    ASSERT_FALSE(disabled) << word;
    EXPECT_THAT(disabled.error().message, HasSubstr("DP_DISABLE_HEALTHCHECKS")) << word;
    EXPECT_THAT(disabled.error().message, HasSubstr(word)) << word;
    const auto enabled = parse_xid_policy("", word);
    ASSERT_FALSE(enabled) << word;
    EXPECT_THAT(enabled.error().message, HasSubstr("DP_ENABLE_HEALTHCHECKS")) << word;
  }
}

}  // namespace
}  // namespace tranche
