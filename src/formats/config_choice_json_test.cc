// SPDX-License-Identifier: Apache-2.0
#include "formats/config_choice_json.h"

#include <gmock/gmock.h>

namespace tranche::formats {
namespace {

using testing::HasSubstr;

TEST(ConfigChoiceJson, ReadsWhatItWrote) {
  for (const ConfigChoice& choice :
       {ConfigChoice{"a", ChosenBy::kLabel}, ConfigChoice{"b", ChosenBy::kDefault},
        ConfigChoice{"default", ChosenBy::kNamed}, ConfigChoice{"c", ChosenBy::kSingle},
        ConfigChoice{}}) {
    const auto again = parse_config_choice(to_json(choice));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, choice);
  }
}

// A later release reads it too.
TEST(ConfigChoiceJson, HasThisForm) {
  const auto choice =
      parse_config_choice(R"({"version": 1, "name": "shared", "chosenBy": "label"})");
  ASSERT_TRUE(choice);
  EXPECT_EQ(*choice, (ConfigChoice{"shared", ChosenBy::kLabel}));
}

TEST(ConfigChoiceJson, RefusesWhatIsNotAChoice) {
  for (const char* text :
       {"", "{", "null", "[]", "{}", R"({"version": 2, "name": "a", "chosenBy": "label"})",
        R"({"version": 1, "name": "../a", "chosenBy": "label"})",
        R"({"version": 1, "name": "/etc/shadow", "chosenBy": "default"})",
        R"({"version": 1, "name": "", "chosenBy": "label"})",
        R"({"version": 1, "name": "a", "chosenBy": "fallback-empty"})",
        R"({"version": 1, "name": "a", "chosenBy": "dice"})",
        R"({"version": 1, "name": 7, "chosenBy": "label"})",
        R"({"version": 4294967297, "name": "a", "chosenBy": "label"})"}) {
    EXPECT_FALSE(parse_config_choice(text)) << text;
  }
  EXPECT_THAT(parse_config_choice(R"({"version": 2})").error().message, HasSubstr("version 2"));
}

}  // namespace
}  // namespace tranche::formats
