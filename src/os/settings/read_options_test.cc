// SPDX-License-Identifier: Apache-2.0
#include "os/settings/read_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "os/settings/option_help.h"

namespace tranche::os {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

enum class Colour { kRed, kGreen };
constexpr Word<Colour> kColours[] = {{"red", Colour::kRed}, {"green", Colour::kGreen}};

struct Flags {
  bool quick = false;
  std::string folder;
  Colour colour = Colour::kGreen;
  std::int64_t offset = 7;
  std::vector<std::string> names;
  bool help = false;
};

Result<std::int64_t> parse_offset(const std::string& text) {
  const auto number = parse_number<std::int64_t>(text);
  if (!number) return Error{ErrorCode::kInvalidArgument, "'" + text + "' is no offset"};
  return *number;
}

constexpr auto kTable = flags_only(
    "Options",
    {
        {.name = "quick", .to = {field<&Flags::quick>}, .help = "Do less."},
        {.name = "folder",
         .aliases = {"f"},
         .to = {field<&Flags::folder>},
         .placeholder = "FOLDER",
         .required = true,
         .help = "Where."},
        {.name = "colour",
         .to = {word_field<kColours, &Flags::colour>},
         .fallback = "red",
         .help = "Of all."},
        {.name = "offset", .to = {parsed_field<parse_offset, &Flags::offset>}, .help = "How far."},
        {.name = "name", .to = {field<&Flags::names>}, .help = "Of what."},
    });

std::string problem(const std::vector<std::string>& arguments) {
  const auto flags = read_flags<Flags>(kTable, arguments);
  return flags ? "" : flags.error().message;
}

TEST(ReadOptions, FillsTheProgramsStruct) {
  const auto flags = read_flags<Flags>(
      kTable, {"--quick", "-f", "a", "--colour=green", "--offset", "-3", "--name=x", "--name=y"});
  ASSERT_TRUE(flags) << flags.error().message;
  EXPECT_TRUE(flags->quick);
  EXPECT_EQ(flags->folder, "a");
  EXPECT_EQ(flags->colour, Colour::kGreen);
  EXPECT_EQ(flags->offset, -3);
  EXPECT_THAT(flags->names, ElementsAre("x", "y"));
  EXPECT_FALSE(flags->help);
}

TEST(ReadOptions, TakesTheDefaultsOfTheTableAndLeavesWhatHasNone) {
  const auto flags = read_flags<Flags>(kTable, {"--folder=a"});
  ASSERT_TRUE(flags) << flags.error().message;
  EXPECT_FALSE(flags->quick);
  EXPECT_EQ(flags->colour, Colour::kRed);
  EXPECT_EQ(flags->offset, 7);
}

TEST(ReadOptions, NamesEveryProblemAndTheNearestName) {
  EXPECT_EQ(problem({}), "--folder is missing; see --help");
  EXPECT_EQ(problem({"--folder="}), "--folder is missing; see --help");
  EXPECT_EQ(problem({"--folder"}), "--folder: needs a value; write --folder=FOLDER");
  EXPECT_EQ(problem({"--quik", "--offset=far"}),
            "--quik: unknown flag; did you mean --quick?\n--offset=far: 'far' is no offset");
  EXPECT_EQ(problem({"--offset="}), "--offset=: '' is no offset");
  EXPECT_EQ(problem({"--colour=gren"}),
            "--colour=gren: gren (allowed: red, green; did you mean 'green'?)");
  EXPECT_THAT(problem({"word"}), HasSubstr("unexpected argument 'word'"));
  EXPECT_EQ(problem({"--version"}), "--version: unknown flag; --help lists all of them");
}

TEST(ReadOptions, GivesHelpWhateverElseIsWrong) {
  EXPECT_TRUE(read_flags<Flags>(kTable, {"--help"})->help);
  EXPECT_TRUE(read_flags<Flags>(kTable, {"--bad", "-h"})->help);
}

TEST(ReadOptions, ReadsVariablesWhereTheTableHasThem) {
  constexpr auto kRows = in_group("Options", {{.name = "the-folder"}});
  const auto given = read_options(kRows, {}, {{"THE_FOLDER", "/a"}});
  ASSERT_TRUE(given);
  EXPECT_EQ(given->values.text("the-folder"), "/a");
}

TEST(OptionsHelp, OfAProgramWithoutAFileNamesOptionsAndDefaultsAlone) {
  const std::string help = options_help(kTable);
  EXPECT_THAT(help, HasSubstr("\nOptions:\n  --quick\n      Do less.\n"));
  EXPECT_THAT(help, HasSubstr("  --folder, -f FOLDER\n      Where.\n"));
  EXPECT_THAT(help, HasSubstr("  --colour red|green\n      Of all.\n      [default red]\n"));
  EXPECT_THAT(help, Not(HasSubstr("environment")));
}

}  // namespace
}  // namespace tranche::os
