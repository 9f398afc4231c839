// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <gtest/gtest.h>

namespace tranche::base {
namespace {

TEST(Split, KeepsEmptyParts) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(split("", ','), (std::vector<std::string>{""}));
}

TEST(Join, IsTheReverseOfSplit) {
  EXPECT_EQ(join({"a", "", "b"}, ","), "a,,b");
  EXPECT_EQ(join({}, ","), "");
}

TEST(Trim, TakesSpaceAndCarriageReturnsFromBothEnds) {
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
}

TEST(GlobMatch, MatchesTheWholeText) {
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("*A100*", "NVIDIA A100-SXM4-40GB"));
  EXPECT_TRUE(glob_match("1g.5gb", "1g.5gb"));
  EXPECT_FALSE(glob_match("1g.5gb", "1g.5gb+me"));
  EXPECT_FALSE(glob_match("A100", "NVIDIA A100"));
  EXPECT_TRUE(glob_match("*b*b", "abcbcb"));
}

TEST(GlobMatch, TakesEveryOtherCharacterForItself) {
  EXPECT_FALSE(glob_match("1g.5gb", "1gx5gb"));
  EXPECT_TRUE(glob_match("a[b]?", "a[b]?"));
}

TEST(GlobMatch, EndsSoonOnAHostilePattern) {
  EXPECT_FALSE(glob_match(std::string(2000, '*') + "b", std::string(20000, 'a')));
}

TEST(Nearest, FindsATypoAndNotAStranger) {
  const std::vector<std::string> keys{"replicas", "rename", "devices"};
  EXPECT_EQ(nearest("repilcas", keys), "replicas");
  EXPECT_EQ(nearest("Replicas", keys), "replicas");
  EXPECT_EQ(nearest("timeSlicing", keys), std::nullopt);
}

TEST(Printable, ShowsAQuestionMarkForWhatATerminalObeys) {
  EXPECT_EQ(printable("python3 -m \u00E9"), "python3 -m \u00E9");
  EXPECT_EQ(printable("\x1b[2Kok\x7F\n"), "?[2Kok??");
  EXPECT_EQ(printable("a\xC2\x9B"
                      "2J\xC2\xA0"),
            "a??2J\xC2\xA0");
  EXPECT_EQ(printable("\xFF\x9B"
                      "b\xC3"),
            "??b?");
  EXPECT_EQ(printable(""), "");
}

TEST(ParseNumber, TakesTheWholeTextOrNothing) {
  EXPECT_EQ(parse_number<unsigned>("42"), 42U);
  EXPECT_EQ(parse_number<unsigned>("42x"), std::nullopt);
  EXPECT_EQ(parse_number<unsigned>(""), std::nullopt);
  EXPECT_EQ(parse_number<unsigned>("-1"), std::nullopt);
  EXPECT_EQ(parse_number<unsigned>("99999999999999"), std::nullopt);
  EXPECT_EQ(parse_number<unsigned>("1F", 16), 31U);
}

}  // namespace
}  // namespace tranche::base
