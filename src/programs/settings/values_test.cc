// SPDX-License-Identifier: Apache-2.0
#include "os/settings/values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/text.h"
#include "core/grant/cdi_names.h"
#include "programs/settings/flag_table.h"

namespace tranche::programs {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAreArray;

TEST(GoBool, TakesGosWordsAndNoOthers) {
  for (const char* word : {"1", "t", "T", "TRUE", "true", "True"}) {
    EXPECT_EQ(parse_go_bool(word), true) << word;
  }
  for (const char* word : {"0", "f", "F", "FALSE", "false", "False"}) {
    EXPECT_EQ(parse_go_bool(word), false) << word;
  }
  for (const char* word : {"", "yes", "on", "tRUE", " true", "2"}) {
    EXPECT_EQ(parse_go_bool(word), std::nullopt) << word;
  }
}

TEST(FlagTable, HasValidDefaultsOnly) {
  for (const Option& flag : flag_table()) {
    if (flag.is_list() && flag.fallback.empty()) continue;
    if (flag.fallback.empty() && flag.type == ValueType::kText) continue;
    const auto value = read_value(flag, words_in(flag, flag.fallback));
    ASSERT_TRUE(value) << flag.title() << ": " << value.error().message;
    EXPECT_EQ(show(*value), flag.fallback) << flag.title();
  }
}

TEST(FlagTable, ExplainsEveryFlag) {
  for (const Option& flag : flag_table()) {
    EXPECT_FALSE(flag.help.empty()) << flag.title();
    EXPECT_TRUE(flag.help.ends_with('.')) << flag.title();
    EXPECT_EQ(flag.allowed_words().empty(), flag.complaint.empty()) << flag.title();
  }
}

TEST(FlagTable, HasNoNameTwice) {
  std::set<std::string> names = {"h", "help", "version"};
  std::set<std::string> variables;
  std::set<std::string_view> keys;
  for (const std::string& name : option_names(flag_table())) {
    EXPECT_TRUE(names.insert(name).second) << name;
  }
  for (const Option& flag : flag_table()) {
    for (const std::string& variable : flag.variables()) {
      EXPECT_TRUE(variables.insert(variable).second) << variable;
    }
    EXPECT_TRUE(flag.key.empty() || keys.insert(flag.key).second) << flag.key;
  }
}

TEST(FlagTable, AllowsTheCdiWordsThatGrantsKnow) {
  const auto allowed = [](const char* flag) { return find_flag(flag)->allowed_words(); };
  EXPECT_THAT(allowed("cdi-disable-hooks"), UnorderedElementsAreArray(known_cdi_hooks()));
  EXPECT_THAT(allowed("cdi-feature-flags"), UnorderedElementsAreArray(known_cdi_feature_flags()));
}

TEST(ReadValue, SplitsListsAtCommasAndTrimsTheItems) {
  const Option& flag = *find_flag("device-list-strategy");
  const auto value = read_value(flag, words_in(flag, " envvar , cdi-cri"));
  ASSERT_TRUE(value);
  EXPECT_EQ(show(*value), "envvar,cdi-cri");
}

TEST(ReadValue, RefusesAnEmptyStrategyButNotAnEmptyHook) {
  const Option& strategy = *find_flag("device-list-strategy");
  EXPECT_FALSE(read_value(strategy, {""}));
  EXPECT_FALSE(read_value(strategy, {"envvar", ""}));
  EXPECT_FALSE(read_value(strategy, {}));
  EXPECT_EQ(show(*read_value(*find_flag("cdi-disable-hooks"), {""})), "");
}

TEST(ReadValue, RefusesControlCharactersAndBrokenUtf8Everywhere) {
  for (const Option& flag : flag_table()) {
    for (const std::string text : {"\n", "/a\x01", "\x7F", "/\xFF", "/\xC3"}) {
      EXPECT_FALSE(read_value(flag, {text})) << flag.title();
    }
  }
}

TEST(ReadValue, KeepsAnIntervalBetween100MillisecondsAndADay) {
  const Option& flag = *find_flag("health-check-interval");
  EXPECT_TRUE(read_value(flag, {"100ms"}));
  EXPECT_TRUE(read_value(flag, {"24h"}));
  for (const char* word : {"99ms", "0", "-5s", "24h1s", "99.9ms"}) {
    const auto value = read_value(flag, {word});
    ASSERT_FALSE(value) << word;
    EXPECT_THAT(value.error().message, HasSubstr("from 100ms to 24h")) << word;
  }
}

TEST(AllowedHint, NamesAllAndTheNearest) {
  EXPECT_EQ(allowed_hint("mixd", {"none", "mixed"}), "allowed: none, mixed; did you mean 'mixed'?");
  EXPECT_EQ(allowed_hint("zzzz", {"none", "mixed"}), "allowed: none, mixed");
}

TEST(Utf8, KnowsWhereItEnds) {
  EXPECT_EQ(valid_utf8_prefix(""), 0U);
  EXPECT_EQ(valid_utf8_prefix("a\u00E9\u20AC\U0001F600"), 10U);
  EXPECT_EQ(valid_utf8_prefix("ab\xFF"), 2U);
  EXPECT_EQ(valid_utf8_prefix("a\xC3"), 1U);             // cut short
  EXPECT_EQ(valid_utf8_prefix("\xC0\x80"), 0U);          // overlong
  EXPECT_EQ(valid_utf8_prefix("\xE0\x80\x80"), 0U);      // overlong
  EXPECT_EQ(valid_utf8_prefix("\xED\xA0\x80"), 0U);      // surrogate
  EXPECT_EQ(valid_utf8_prefix("\xF4\x90\x80\x80"), 0U);  // beyond Unicode
  EXPECT_EQ(valid_utf8_prefix("\x80"), 0U);
}

TEST(Brief, CutsLongTextAndHidesWhatIsNoText) {
  EXPECT_EQ(brief("short"), "short");
  EXPECT_EQ(brief("a\nb\xFF\u00E9"), "a?b?\u00E9");
  EXPECT_EQ(brief(std::string(500, 'x')), std::string(100, 'x') + "...");
  const std::string accents = brief(std::string(99, 'x') + "\u00E9\u00E9");
  EXPECT_EQ(accents, std::string(99, 'x') + "...");
}

}  // namespace
}  // namespace tranche::programs
