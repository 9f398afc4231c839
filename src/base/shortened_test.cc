// SPDX-License-Identifier: Apache-2.0
#include "base/shortened.h"

#include <gtest/gtest.h>

namespace tranche::base {
namespace {

TEST(Shortened, LeavesWhatFits) {
  EXPECT_EQ(shortened("abcd", 4), "abcd");
  EXPECT_EQ(shortened("", 0), "");
}

TEST(Shortened, EndsWithAMarkAndIsNoLonger) { EXPECT_EQ(shortened("abcdefgh", 6), "abc…"); }

TEST(Shortened, CutsNoCharacterInTwo) {
  EXPECT_EQ(shortened("aäää", 6), "aä…");
  EXPECT_EQ(shortened("äääää", 6), "ä…");
}

}  // namespace
}  // namespace tranche::base
