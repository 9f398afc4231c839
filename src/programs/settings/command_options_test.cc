// SPDX-License-Identifier: Apache-2.0
#include "programs/device_plugin/own_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::programs {
namespace {

using ::testing::ElementsAre;
using Words = std::vector<std::string>;

TEST(OwnFlags, TakesAValueBehindASpaceOrAnEqualsSignWithOneDashOrTwo) {
  for (const Words& given : {Words{"--root", "/mps", "--v=4"}, Words{"--v=4", "--root=/mps"},
                             Words{"-root", "/mps", "--v=4"}, Words{"-root=/mps", "--v=4"}}) {
    Words arguments = given;
    const auto value = take_value(arguments, {"root"});
    ASSERT_TRUE(value);
    EXPECT_EQ(*value, "/mps");
    EXPECT_THAT(arguments, ElementsAre("--v=4"));
  }
}

TEST(OwnFlags, TakesTheLastOfSeveralValuesAndEveryNameOfTheFlag) {
  Words arguments{"-o", "table", "mount-shm", "--output=json"};
  EXPECT_EQ(*take_value(arguments, {"o", "output"}), "json");
  EXPECT_THAT(arguments, ElementsAre("mount-shm"));
}

TEST(OwnFlags, RefusesAFlagWithoutItsValue) {
  Words arguments{"--root"};
  const auto value = take_value(arguments, {"root"});
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().message, "--root: needs a value");
}

TEST(OwnFlags, LeavesOtherWordsAlone) {
  Words arguments{"--host-root", "/host", "root"};
  EXPECT_EQ(*take_value(arguments, {"root"}), std::nullopt);
  EXPECT_THAT(arguments, ElementsAre("--host-root", "/host", "root"));
}

TEST(OwnFlags, TakesASwitch) {
  Words arguments{"-anonymous", "x", "--anonymous"};
  EXPECT_TRUE(take_switch(arguments, "anonymous"));
  EXPECT_FALSE(take_switch(arguments, "anonymous"));
  EXPECT_THAT(arguments, ElementsAre("x"));
}

}  // namespace
}  // namespace tranche::programs
