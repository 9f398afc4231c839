// SPDX-License-Identifier: Apache-2.0
#include "demo/flags.h"

#include <gtest/gtest.h>

namespace tranche::demo {
namespace {

TEST(DemoFlags, AreAllOffWithoutWords) {
  const auto flags = parse_flags({});
  ASSERT_TRUE(flags);
  EXPECT_FALSE(flags->once || flags->fast || flags->help);
  EXPECT_EQ(flags->agent, "");
}

TEST(DemoFlags, AreReadInAnyOrder) {
  const auto flags = parse_flags({"--fast", "--agent", "/a", "--once"});
  ASSERT_TRUE(flags);
  EXPECT_TRUE(flags->once && flags->fast);
  EXPECT_EQ(flags->agent, "/a");
  EXPECT_EQ(parse_flags({"--agent=/b"})->agent, "/b");
  EXPECT_TRUE(parse_flags({"-h"})->help);
}

TEST(DemoFlags, NameTheirMistakes) {
  EXPECT_EQ(parse_flags({"--fats"}).error().message, "--fats: unknown flag; did you mean --fast?");
  EXPECT_EQ(parse_flags({"--agent"}).error().message, "--agent: needs a value; write --agent=FILE");
}

}  // namespace
}  // namespace tranche::demo
