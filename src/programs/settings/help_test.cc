// SPDX-License-Identifier: Apache-2.0
#include "programs/settings/help.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/text.h"
#include "os/files.h"
#include "programs/settings/file_schema.h"
#include "programs/settings/flag_table.h"
#include "programs/settings/testing/loading.h"

namespace tranche::programs {
namespace {

using ::testing::HasSubstr;
using namespace tranche::programs::testing;

constexpr std::string_view kBegin = "<!-- generated: begin -->\n";
constexpr std::string_view kEnd = "<!-- generated: end -->\n";
constexpr const char* kDocument = TRANCHE_DOCS "/configuration.md";

TEST(HelpText, NamesEveryFlagVariableAndCommand) {
  const std::string help = help_text("tranche-device-plugin");
  for (const Option& flag : flag_table()) {
    EXPECT_THAT(help, HasSubstr(std::string(flag.title())));
    EXPECT_THAT(help, HasSubstr(std::string(flag.key)));
    for (const std::string_view alias : flag.aliases) {
      EXPECT_THAT(help, HasSubstr(alias.empty() ? "" : "--" + std::string(alias)));
    }
    for (const std::string& variable : flag.variables()) {
      EXPECT_THAT(help, HasSubstr(variable));
    }
  }
  for (const char* command :
       {"devices", "check-config", "capture", "release", "resume", "numbers", "version"}) {
    EXPECT_THAT(help, HasSubstr(std::string("\n  ") + command + "\n"));
  }
  EXPECT_THAT(help, HasSubstr("tranche-device-plugin check-config"));
}

TEST(CommandHelp, IsTheCommandsOwnAndShort) {
  const std::string help = command_help("tranche-device-plugin", "devices");
  EXPECT_THAT(help,
              HasSubstr("tranche-device-plugin devices [--gpu GPU] [-o table|json|pods] [flags]"));
  EXPECT_THAT(help, HasSubstr("Show this node's GPUs"));
  EXPECT_THAT(help, HasSubstr("'tranche-device-plugin --help' has every flag.\n"));
  EXPECT_LT(split(help, '\n').size(), 20U);
}

TEST(CommandHelp, OfCheckConfigNamesTheFile) {
  EXPECT_THAT(command_help("tranche-device-plugin", "check-config"),
              HasSubstr("check-config [FILE|--config-file=FILE] [-o table|json] [flags]"));
}

TEST(HelpText, FitsInto100ColumnsWithoutTrailingSpace) {
  for (const std::string& line : split(help_text("tranche-device-plugin"), '\n')) {
    EXPECT_LE(line.size(), 100U) << line;
    EXPECT_FALSE(line.ends_with(' ')) << line;
  }
}

TEST(ReferenceMarkdown, NamesEveryKey) {
  const std::string reference = reference_markdown();
  const Schema& schema = file_schema();
  for (const KeySpec& key : schema.keys()) {
    EXPECT_THAT(reference, HasSubstr("`" + std::string(key.path) + "`"));
    EXPECT_EQ(key.is_ours(), !key.help.empty()) << key.path;
  }
}

TEST(ReferenceMarkdown, HasTheSameNumberOfCellsInEachRowOfATable) {
  std::size_t cells = 0;
  for (const std::string& line : split(reference_markdown(), '\n')) {
    if (!line.starts_with('|')) {
      cells = 0;
      continue;
    }
    std::size_t count = 0;
    for (std::size_t i = 1; i < line.size(); ++i) {
      if (line[i] == '|' && line[i - 1] != '\\') ++count;
    }
    if (cells == 0) cells = count;
    EXPECT_EQ(count, cells) << line;
  }
}

// To update the document, run this with TRANCHE_UPDATE_DOCS=1.
TEST(ConfigurationDocument, HoldsTheGeneratedTables) {
  const Result<std::string> document = read_file(kDocument);
  ASSERT_TRUE(document) << document.error().message;
  const std::size_t begin = document->find(kBegin);
  const std::size_t end = document->find(kEnd);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const std::size_t start = begin + kBegin.size();
  if (std::getenv("TRANCHE_UPDATE_DOCS") != nullptr) {  // NOLINT(concurrency-mt-unsafe)
    const std::string updated =
        document->substr(0, start) + "\n" + reference_markdown() + "\n" + document->substr(end);
    ASSERT_TRUE(write_atomically(kDocument, updated));
    GTEST_SKIP() << "wrote " << kDocument;
  }
  EXPECT_EQ(document->substr(start, end - start), "\n" + reference_markdown() + "\n")
      << "docs/configuration.md is not what src/config says; see the comment at this test";
}

// The fenced blocks that begin with `fence`.
std::vector<std::string> blocks(const std::string& document, const std::string& fence) {
  std::vector<std::string> found;
  for (std::size_t at = document.find(fence); at != std::string::npos;
       at = document.find(fence, at)) {
    const std::size_t start = document.find('\n', at) + 1;
    const std::size_t end = document.find("\n```", start);
    found.push_back(document.substr(start, end + 1 - start));
    at = end;
  }
  return found;
}

TEST(ConfigurationDocument, HasExamplesThatLoad) {
  const std::string document = *read_file(kDocument);
  const std::vector<std::string> examples = blocks(document, "```yaml example");
  EXPECT_GE(examples.size(), 4U);
  for (const std::string& example : examples) {
    const auto loaded = load_file(example);
    EXPECT_TRUE(loaded) << example << problem_of(loaded);
  }
}

// The example of the whole format has every key.
TEST(ConfigurationDocument, ShowsEveryKeyInItsWholeExample) {
  const std::vector<std::string> whole = blocks(*read_file(kDocument), "```yaml example whole");
  ASSERT_EQ(whole.size(), 1U);
  const Schema& schema = file_schema();
  for (const KeySpec& key : schema.keys()) {
    if (!key.is_ours()) continue;
    EXPECT_THAT(whole[0], HasSubstr(std::string(last_name(key.path)) + ":")) << key.path;
  }
}

TEST(ConfigurationDocument, ShowsProblemsAsTheyAreReported) {
  const std::string document = *read_file(kDocument);
  const std::vector<std::string> wrong = blocks(document, "```yaml wrong");
  const std::vector<std::string> told = blocks(document, "```text told");
  ASSERT_EQ(wrong.size(), 1U);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(problem_of(load_file(wrong[0])) + "\n", told[0]);
}

}  // namespace
}  // namespace tranche::programs
