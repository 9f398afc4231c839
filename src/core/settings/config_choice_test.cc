// SPDX-License-Identifier: Apache-2.0
#include "core/settings/config_choice.h"

#include <gmock/gmock.h>

namespace tranche::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const ConfigNames kTwo{"a", "b"};

NamedConfigOptions options(std::vector<ConfigFallback> fallbacks = {},
                           std::string default_name = {}) {
  return {"/configs", "nvidia.com/device-plugin.config", std::move(default_name),
          std::move(fallbacks)};
}

std::string refusal(const Result<ConfigChoice>& choice) {
  return choice ? "chosen: " + choice->name : choice.error().message;
}

ConfigChoice remembered(ConfigChoice choice) {
  choice.is_remembered = true;
  return choice;
}

TEST(ConfigChoice, TheLabelDecidesBeforeTheDefault) {
  const auto choice = choose_config(options({ConfigFallback::kEmpty}, "b"), "a", kTwo);
  ASSERT_TRUE(choice);
  EXPECT_EQ(*choice, (ConfigChoice{"a", ChosenBy::kLabel}));
}

TEST(ConfigChoice, ALabelOfWhatIsNotThereIsRefusedAlthoughThereIsADefault) {
  const auto choice = choose_config(options({ConfigFallback::kEmpty}, "b"), "c", kTwo);
  ASSERT_FALSE(choice);
  EXPECT_EQ(choice.error().message,
            "label nvidia.com/device-plugin.config=c of the node: there is no configuration 'c'; "
            "/configs has a, b");
}

TEST(ConfigChoice, ARefusalNamesTheNearest) {
  EXPECT_THAT(refusal(choose_config(options(), "time-slicng", {"time-slicing", "mps"})),
              HasSubstr("did you mean 'time-slicing'?"));
}

TEST(ConfigChoice, WithoutALabelTheDefaultCountsBeforeTheFallbacks) {
  const auto choice = choose_config(options({ConfigFallback::kNamed}, "b"), "", {"b", "default"});
  ASSERT_TRUE(choice);
  EXPECT_EQ(*choice, (ConfigChoice{"b", ChosenBy::kDefault}));
}

TEST(ConfigChoice, ADefaultThatIsNotThereIsRefusedAlthoughAFallbackWouldApply) {
  EXPECT_EQ(refusal(choose_config(options({ConfigFallback::kEmpty}, "c"), "", kTwo)),
            "--default-config=c: there is no configuration 'c'; /configs has a, b");
}

TEST(ConfigChoice, FallbacksAreTriedInTheirOrder) {
  using enum ConfigFallback;
  struct Row {
    std::vector<ConfigFallback> fallbacks;
    ConfigNames names;
    ConfigChoice choice;
  };
  for (const Row& row : {Row{{kNamed, kSingle}, {"a", "default"}, {"default", ChosenBy::kNamed}},
                         Row{{kNamed, kSingle}, {"a"}, {"a", ChosenBy::kSingle}},
                         Row{{kSingle, kNamed}, {"default"}, {"default", ChosenBy::kSingle}},
                         Row{{kNamed, kSingle, kEmpty}, {"a", "b"}, {"", ChosenBy::kEmpty}},
                         Row{{kEmpty, kSingle}, {"a"}, {"", ChosenBy::kEmpty}},
                         Row{{kEmpty}, {}, {"", ChosenBy::kEmpty}}}) {
    const auto choice = choose_config(options(row.fallbacks), "", row.names);
    ASSERT_TRUE(choice) << choice.error().message;
    EXPECT_EQ(*choice, row.choice);
  }
}

TEST(ConfigChoice, WithoutAnyRuleTheErrorSaysWhatToDo) {
  EXPECT_EQ(
      refusal(choose_config(options({ConfigFallback::kNamed, ConfigFallback::kSingle}), "", kTwo)),
      "the node has no label nvidia.com/device-plugin.config, there is no --default-config, "
      "and no fallback strategy applies (of named, single); /configs has a, b. Label the "
      "node, or give a default");
  EXPECT_THAT(refusal(choose_config(options(), "", {})),
              HasSubstr("/configs has no configuration"));
}

TEST(ConfigChoice, NoNameLeadsOutOfTheFolder) {
  const std::vector<std::string> files{
      "a",      "..data", "..2026_11_18",       "..", ".", "", "../etc/shadow", "b/c", "/etc/x",
      "bell\a", ".a",     std::string(254, 'x')};
  EXPECT_THAT(config_names(files), ElementsAre(".a", "a"));
  for (const char* label : {"../etc/shadow", "..data", "/etc/shadow", "a/../a"}) {
    EXPECT_FALSE(choose_config(options(), label, config_names(files))) << label;
  }
}

TEST(ConfigChoice, AMessageHasNeitherControlCharactersNorAThousandNames) {
  ConfigNames many;
  for (int i = 0; i < 1000; ++i) many.insert("name" + std::to_string(i));
  const std::string message =
      refusal(choose_config(options(), "\x1b[2J" + std::string(9999, 'y'), many));
  EXPECT_THAT(message, Not(HasSubstr("\x1b")));
  EXPECT_THAT(message, HasSubstr("980 more"));
  EXPECT_LT(message.size(), 1500U);
}

TEST(ConfigsAtStart, TheLabelIsFirst) {
  const auto found = configs_at_start(options({}, "b"), "a", kTwo, ConfigChoice{"b"});
  EXPECT_THAT(found.choices,
              ElementsAre(ConfigChoice{"a", ChosenBy::kLabel}, remembered(ConfigChoice{"b"})));
  EXPECT_THAT(found.problem, IsEmpty());
}

// Unknown is not "no label".
TEST(ConfigsAtStart, AnUnknownLabelKeepsWhatWasInForce) {
  const ConfigChoice before{"a", ChosenBy::kLabel};
  const auto found = configs_at_start(options({}, "b"), std::nullopt, kTwo, before);
  EXPECT_THAT(found.choices,
              ElementsAre(remembered(before), ConfigChoice{"b", ChosenBy::kDefault}));
  EXPECT_THAT(found.problem, IsEmpty());
}

TEST(ConfigsAtStart, AnUnknownLabelAtTheFirstStartGivesTheDefault) {
  const auto found = configs_at_start(options({}, "b"), std::nullopt, kTwo, std::nullopt);
  EXPECT_THAT(found.choices, ElementsAre(ConfigChoice{"b", ChosenBy::kDefault}));
}

TEST(ConfigsAtStart, ALabelThatWasRemovedDoesNotBringBackWhatWasInForce) {
  const auto found =
      configs_at_start(options({}, "b"), "", kTwo, ConfigChoice{"a", ChosenBy::kLabel});
  EXPECT_EQ(found.choices.front(), (ConfigChoice{"b", ChosenBy::kDefault}));
}

TEST(ConfigsAtStart, ALabelOfWhatIsNotThereYetKeepsNothingFromBeingServed) {
  const auto found = configs_at_start(options({}, "b"), "later", kTwo, ConfigChoice{"a"});
  EXPECT_THAT(found.choices,
              ElementsAre(remembered(ConfigChoice{"a"}), ConfigChoice{"b", ChosenBy::kDefault}));
  EXPECT_THAT(found.problem, HasSubstr("config=later"));
}

TEST(ConfigsAtStart, WhatWasInForceAndIsGoneDoesNotCount) {
  const auto found = configs_at_start(options({}, "b"), std::nullopt, kTwo, ConfigChoice{"gone"});
  EXPECT_THAT(found.choices, ElementsAre(ConfigChoice{"b", ChosenBy::kDefault}));
  // No file is always there.
  EXPECT_EQ(configs_at_start(options(), std::nullopt, kTwo, ConfigChoice{}).choices.size(), 1U);
}

TEST(ConfigsAtStart, TheProblemIsNamedWhereThereIsNothing) {
  const auto found = configs_at_start(options(), std::nullopt, kTwo, std::nullopt);
  EXPECT_THAT(found.choices, IsEmpty());
  EXPECT_THAT(found.problem, HasSubstr("Label the node"));
}

TEST(ConfigChoice, SaysWhy) {
  EXPECT_EQ(reason_text(options(), {"a", ChosenBy::kLabel}),
            "label nvidia.com/device-plugin.config=a");
  EXPECT_EQ(reason_text(options(), {"a", ChosenBy::kDefault, true}),
            "memory of an earlier run: --default-config");
  EXPECT_EQ(reason_text(options(), {"a", ChosenBy::kSingle}), "fallback strategy single");
}

}  // namespace
}  // namespace tranche::core
