// SPDX-License-Identifier: Apache-2.0
#include "programs/settings/command_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche::programs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Words = std::vector<std::string>;

Sources sources(const std::string& command, const Words& words) {
  return {.arguments = words,
          .allow_positionals = true,
          .command_options = options_of_command(command)};
}

CommandOptions options(const std::string& command, const Words& words) {
  const auto read = read_command_options(sources(command, words));
  EXPECT_TRUE(read) << read.error().message;
  return read ? *read : CommandOptions{};
}

std::string problem(const std::string& command, const Words& words) {
  const Sources given = sources(command, words);
  if (const auto read = read_command_options(given); !read) return read.error().message;
  const auto loaded = load_settings(given);
  return loaded ? "" : loaded.error().message;
}

TEST(CommandOptions, TakeAValueBehindASpaceOrAnEqualsSignWithOneDashOrTwo) {
  for (const Words& given : {Words{"--root", "/x", "--v=4"}, Words{"--v=4", "--root=/x"},
                             Words{"-root", "/x", "--v=4"}, Words{"-root=/x", "--v=4"}}) {
    EXPECT_EQ(options("mps-control-daemon", given).root, "/x");
    EXPECT_EQ(problem("mps-control-daemon", given), "");
  }
  EXPECT_EQ(options("mps-control-daemon", {}).root, "/mps");
}

TEST(CommandOptions, TakeTheLastOfSeveralValuesAndEveryNameOfTheOption) {
  const Words given{"-o", "table", "forget", "--output=json"};
  EXPECT_EQ(options("numbers", given).format, OutputFormat::kJson);
  EXPECT_THAT(load_settings(sources("numbers", given))->positionals, ElementsAre("forget"));
}

TEST(CommandOptions, RefuseAnOptionWithoutItsValue) {
  EXPECT_EQ(problem("mps-control-daemon", {"--root"}), "--root: needs a value; write --root=/mps");
  EXPECT_EQ(problem("devices", {"--gpu="}), "--gpu=: takes an index, a uuid or a PCI address");
}

TEST(CommandOptions, LeaveSettingsAndOtherWordsAlone) {
  const Words given{"--host-root", "/host", "root"};
  EXPECT_EQ(options("mps-control-daemon", given).root, "/mps");
  const auto loaded = load_settings(sources("mps-control-daemon", given));
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->settings.host_root, "/host");
  EXPECT_THAT(loaded->positionals, ElementsAre("root"));
}

TEST(CommandOptions, TakeASwitch) {
  EXPECT_TRUE(options("capture", {"-anonymous", "x", "--anonymous"}).anonymous);
  EXPECT_FALSE(options("capture", {"x"}).anonymous);
}

TEST(CommandOptions, AreThoseOfTheirCommandAlone) {
  EXPECT_EQ(options("devices", {"-o", "pods"}).format, OutputFormat::kPods);
  EXPECT_EQ(options("devices", {"--gpu", "3"}).gpu, "3");
  EXPECT_EQ(options("devices", {}).gpu, std::nullopt);
  EXPECT_EQ(problem("numbers", {"-o", "pods"}),
            "-o pods: unknown format pods (allowed: table, json)");
  EXPECT_THAT(problem("numbers", {"--gpu=3"}), HasSubstr("--gpu: unknown flag"));
  EXPECT_THAT(problem("", {"-o", "json"}), HasSubstr("-o: unknown flag"));
}

TEST(CommandOptions, AreMeantWhereTheyAreMisspelt) {
  EXPECT_EQ(problem("devices", {"--ouput=json"}), "--ouput: unknown flag; did you mean --output?");
}

}  // namespace
}  // namespace tranche::programs
