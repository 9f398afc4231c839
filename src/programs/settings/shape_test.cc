// SPDX-License-Identifier: Apache-2.0
//
// Every key of the file, wrong in each possible way.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "programs/settings/file_schema.h"
#include "programs/settings/testing/loading.h"

namespace tranche::programs {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using namespace tranche::programs::testing;

// A file with `entries` at `path`, each "key: value" on its own line, from line 2 on.
std::string file_with(const std::string& path, const std::vector<std::string>& entries) {
  std::string open;
  std::string close;
  if (!path.empty()) {
    for (std::string name : split(path, '.')) {
      const bool rows = name.ends_with("[]");
      if (rows) name.resize(name.size() - 2);
      open += "{" + name + ": " + (rows ? "[" : "");
      close.insert(0, rows ? "]}" : "}");
    }
  }
  return open + "{\n" + join(entries, ",\n") + "\n}" + close + "\n";
}

// "resources.gpus[].name" as in messages about the files above.
std::string shown(std::string path) {
  for (std::size_t at = path.find("[]"); at != std::string::npos; at = path.find("[]")) {
    path.replace(at, 2, "[0]");
  }
  return path;
}

std::vector<std::string> problems_of(const std::string& file) {
  return split(problem_of(load_file(file)), '\n');
}

std::string wrong_value(KeyKind kind) {
  switch (kind) {
    case KeyKind::kSection: return "5";
    case KeyKind::kRows: return "{a: b}";
    case KeyKind::kBool: return "'true'";
    case KeyKind::kNumber: return "'5'";
    case KeyKind::kText: return "[a]";
    case KeyKind::kDuration: return "5";
    case KeyKind::kAnyDuration: return "soon";
    case KeyKind::kTextList: return "{a: b}";
    case KeyKind::kNumberList: return "[a]";
    case KeyKind::kOwn: return "{a: b}";
    case KeyKind::kMemory: return "5";
  }
  return "";
}

std::string some_value(KeyKind kind) {
  switch (kind) {
    case KeyKind::kSection: return "{}";
    case KeyKind::kRows: return "[]";
    case KeyKind::kBool: return "true";
    case KeyKind::kNumber: return "5";
    case KeyKind::kDuration:
    case KeyKind::kAnyDuration: return "5s";
    case KeyKind::kTextList: return "[a]";
    case KeyKind::kNumberList: return "[0]";
    default: return "x";
  }
}

TEST(EveryKey, IsNamedWhenItHasTheWrongType) {
  const Schema& schema = file_schema();
  for (const KeySpec& key : schema.keys()) {
    const std::string name(last_name(key.path));
    const std::string file =
        file_with(std::string(parent_path(key.path)), {name + ": " + wrong_value(key.kind)});
    const std::string expectation = "expected " + std::string(expected(key));
    EXPECT_THAT(problems_of(file),
                Contains(AllOf(StartsWith("config.yaml:2: " + shown(std::string(key.path)) + ": "),
                               HasSubstr(expectation))))
        << file;
  }
}

TEST(EveryKey, IsSuggestedWhenItIsMisspelt) {
  const Schema& schema = file_schema();
  for (const KeySpec& key : schema.keys()) {
    std::string misspelt(last_name(key.path));
    misspelt.insert(misspelt.size() / 2, "x");
    const std::string file =
        file_with(std::string(parent_path(key.path)), {misspelt + ": " + some_value(key.kind)});
    EXPECT_THAT(
        problems_of(file),
        Contains(AllOf(StartsWith("config.yaml:2: "), HasSubstr("unknown key '" + misspelt + "'"),
                       HasSubstr("'" + std::string(last_name(key.path)) + "'"))))
        << file;
  }
}

TEST(EveryKey, IsSuggestedWhenItsCaseIsWrong) {
  const Schema& schema = file_schema();
  for (const KeySpec& key : schema.keys()) {
    const std::string name(last_name(key.path));
    if (lower(name) == name) continue;
    const std::string file =
        file_with(std::string(parent_path(key.path)), {lower(name) + ": " + some_value(key.kind)});
    EXPECT_THAT(problems_of(file), Contains(HasSubstr("did you mean '" + name + "'?"))) << file;
  }
}

TEST(EveryKey, IsReportedWithItsPlaceWhenItIsElsewhere) {
  const Schema& schema = file_schema();
  for (const KeySpec& key : schema.keys()) {
    const std::string name(last_name(key.path));
    // At the top of the file, unless the name exists there.
    const std::string place = schema.find(name) == nullptr ? "" : "imex";
    const std::string file = file_with(place, {name + ": " + some_value(key.kind)});
    EXPECT_THAT(problems_of(file), ElementsAre(AllOf(StartsWith("config.yaml:2: "),
                                                     HasSubstr("misplaced key '" + name + "'"),
                                                     HasSubstr(std::string(key.path)))))
        << file;
  }
}

TEST(EveryKey, IsRefusedWhenItIsThereTwice) {
  const Schema& schema = file_schema();
  for (const KeySpec& key : schema.keys()) {
    const std::string entry = std::string(last_name(key.path)) + ": " + some_value(key.kind);
    const std::string file = file_with(std::string(parent_path(key.path)), {entry, entry});
    EXPECT_THAT(problems_of(file), Contains("config.yaml:3: " + shown(std::string(key.path)) +
                                            ": given twice, first on line 2"))
        << file;
  }
}

TEST(EveryKey, MayBeThereWithoutAValueUnlessItIsRequired) {
  const Schema& schema = file_schema();
  for (const KeySpec& key : schema.keys()) {
    if (key.path.starts_with("sharing.timeSlicing") || key.path.starts_with("sharing.mps.") ||
        key.path.find("[]") != std::string::npos) {
      continue;
    }
    const std::string file = file_with(std::string(parent_path(key.path)),
                                       {std::string(last_name(key.path)) + ": null"});
    const auto loaded = load_file(file);
    ASSERT_TRUE(loaded) << file << problem_of(loaded);
    EXPECT_EQ(loaded->settings, default_settings()) << file;
    EXPECT_THAT(loaded->notices, ElementsAre()) << file;
  }
}

TEST(OtherProgramsKeys, AreAcceptedWithANotice) {
  const auto loaded = load_file(
      "flags:\n"
      "  useNodeFeatureAPI: true\n"
      "  gfd:\n"
      "    oneshot: no\n"
      "    noCleanupOnExit: false\n"
      "    sleepInterval: infinite\n");
  ASSERT_TRUE(loaded) << problem_of(loaded);
  EXPECT_EQ(loaded->settings, default_settings());
  ASSERT_EQ(loaded->notices.size(), 4U);
  for (const std::string& notice : loaded->notices) {
    EXPECT_THAT(notice, AllOf(StartsWith("config.yaml:"), HasSubstr("not ours")));
  }
}

TEST(OtherProgramsKeys, TakeADurationAsNvidiaReadsIt) {
  for (const char* interval : {"60s", "0", "5", "60000000000", "1.5", "infinite", "'1m30s'"}) {
    EXPECT_TRUE(load_file(std::string("flags: {gfd: {sleepInterval: ") + interval + "}}\n"))
        << interval;
  }
}

TEST(Shape, RefusesAFileThatIsNoMap) {
  for (const char* file : {"[]", "- a\n", "text", "5", "true"}) {
    EXPECT_THAT(problem_of(load_file(file)), StartsWith("config.yaml:1: expected a map")) << file;
  }
}

TEST(Shape, RefusesRowsThatAreNoSections) {
  EXPECT_THAT(
      problems_of("resources: {gpus: [a]}\n"),
      ElementsAre("config.yaml:1: resources.gpus[0]: expected a section with keys, found the "
                  "text \"a\""));
}

TEST(Shape, SaysWhatToDoAboutQuotes) {
  EXPECT_THAT(problem_of(load_file("flags: {failOnInitError: 'true'}\n")),
              HasSubstr("found the text \"true\" (leave out the quotes)"));
  EXPECT_THAT(problem_of(load_file("flags: {nvidiaDriverRoot: 5}\n")),
              HasSubstr("found the number 5 (put it in quotes)"));
}

TEST(Shape, DoesNotTakeAPathForAKey) {
  EXPECT_THAT(problems_of("flags.migStrategy: none\n"),
              ElementsAre(HasSubstr("unknown key 'flags.migStrategy'")));
  EXPECT_THAT(problems_of("flags: {plugin.passDeviceSpecs: true}\n"),
              ElementsAre(HasSubstr("unknown key 'plugin.passDeviceSpecs'")));
}

TEST(Shape, KnowsWhereAFlagsNameBelongs) {
  EXPECT_THAT(problem_of(load_file("flags: {device-list-strategy: envvar}\n")),
              HasSubstr("did you mean flags.plugin.deviceListStrategy?"));
}

TEST(Shape, ListsTheKeysWhenNoneIsNear) {
  EXPECT_THAT(problem_of(load_file("imex: {zzzzzzzzzzzz: 1}\n")),
              HasSubstr("known here: channelIDs, required"));
}

TEST(Shape, StopsCountingAtAHundredProblems) {
  std::string file;
  for (int i = 0; i < 5000; ++i) file += fmt::format("zz{}: 1\n", i);
  EXPECT_EQ(problems_of(file).size(), 100U);
  EXPECT_THAT(problem_of(load_file(std::string(100000, 'k') + ": 1\n")),
              Not(HasSubstr(std::string(200, 'k'))));
}

TEST(Shape, ReadsYamlsOtherWordsForTrueAndFalse) {
  for (const char* word : {"no", "off", "n", "False"}) {
    EXPECT_FALSE(load_file(std::string("flags: {failOnInitError: ") + word + "}\n")
                     ->settings.fail_on_init_error);
  }
  EXPECT_TRUE(load_file("flags: {gdsEnabled: yes}\n")->settings.grant.gds);
}

}  // namespace
}  // namespace tranche::programs
