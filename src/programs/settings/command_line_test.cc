// SPDX-License-Identifier: Apache-2.0
#include "os/settings/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "programs/settings/flag_table.h"

namespace tranche::programs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Case {
  std::vector<std::string> arguments;
  std::string name;
  std::string value;
  std::string as_written;
};

TEST(CommandLine, TakesOneDashOrTwoAndAnEqualsSignOrASpace) {
  const Case cases[] = {
      {{"--mig-strategy=mixed"}, "mig-strategy", "mixed", "--mig-strategy=mixed"},
      {{"-mig-strategy=mixed"}, "mig-strategy", "mixed", "-mig-strategy=mixed"},
      {{"--mig-strategy", "mixed"}, "mig-strategy", "mixed", "--mig-strategy mixed"},
      {{"-v", "4"}, "v", "4", "-v 4"},
      {{"--v=4"}, "v", "4", "--v=4"},
      {{"--nvidia-driver-root=/x"}, "driver-root", "/x", "--nvidia-driver-root=/x"},
      {{"--host-path=/a=b"}, "host-path", "/a=b", "--host-path=/a=b"},
      {{"--kubelet-socket="}, "kubelet-socket", "", "--kubelet-socket="},
      {{"--kubelet-socket", ""}, "kubelet-socket", "", "--kubelet-socket "},
      {{"--log_dir", "--help"}, "log_dir", "--help", "--log_dir --help"},
      {{"-logtostderr"}, "logtostderr", "true", "-logtostderr"},
      {{"--gds-enabled=F"}, "gds-enabled", "F", "--gds-enabled=F"},
  };
  for (const Case& c : cases) {
    const CommandLine line = parse_command_line(flag_table(), c.arguments);
    EXPECT_THAT(line.problems, IsEmpty()) << c.as_written;
    ASSERT_EQ(line.flags.size(), 1U) << c.as_written;
    EXPECT_EQ(line.flags[0].flag->name, c.name);
    EXPECT_EQ(line.flags[0].value, c.value) << c.as_written;
    EXPECT_EQ(line.flags[0].as_written, c.as_written);
    EXPECT_FALSE(line.wants_help);
  }
}

TEST(CommandLine, KeepsRepeatedFlagsInOrder) {
  const CommandLine line = parse_command_line(flag_table(), {"--v=1", "--gds-enabled", "--v", "2"});
  ASSERT_EQ(line.flags.size(), 3U);
  EXPECT_EQ(line.flags[0].value, "1");
  EXPECT_EQ(line.flags[2].value, "2");
}

TEST(CommandLine, TellsHowToTurnABooleanOff) {
  const CommandLine line = parse_command_line(flag_table(), {"--pass-device-specs", "false"});
  EXPECT_THAT(line.problems, ElementsAre(HasSubstr("write --pass-device-specs=false")));
  EXPECT_THAT(line.positionals, IsEmpty());
}

TEST(CommandLine, LeavesOtherWordsBehindABooleanAlone) {
  const CommandLine line =
      parse_command_line(flag_table(), {"--pass-device-specs", "GPU-1", "true"});
  EXPECT_THAT(line.problems, IsEmpty());
  EXPECT_THAT(line.positionals, ElementsAre("GPU-1", "true"));
}

TEST(CommandLine, TakesEverythingBehindTwoDashesAsWords) {
  const CommandLine line = parse_command_line(flag_table(), {"--v=1", "a", "--", "--v=2", "--"});
  EXPECT_EQ(line.flags.size(), 1U);
  EXPECT_THAT(line.positionals, ElementsAre("a", "--v=2", "--"));
}

TEST(CommandLine, TakesASingleDashAsAWord) {
  EXPECT_THAT(parse_command_line(flag_table(), {"-", ""}).positionals, ElementsAre("-", ""));
}

TEST(CommandLine, NamesTheFlagThatWasMeant) {
  const CommandLine line = parse_command_line(flag_table(), {"--mig-stratgy=none", "--zzzzzzzz"});
  EXPECT_THAT(line.problems,
              ElementsAre("--mig-stratgy: unknown flag; did you mean --mig-strategy?",
                          HasSubstr("--zzzzzzzz: unknown flag")));
}

TEST(CommandLine, StopsAtTwentyProblems) {
  EXPECT_EQ(
      parse_command_line(flag_table(), std::vector<std::string>(1000, "--nope")).problems.size(),
      20U);
}

TEST(CommandLine, RefusesWhatIsNoFlagSyntax) {
  for (const char* argument : {"---v=1", "--=1", "-=", "-=x"}) {
    EXPECT_THAT(parse_command_line(flag_table(), {argument}).problems,
                ElementsAre(HasSubstr("bad flag syntax")))
        << argument;
  }
}

TEST(CommandLine, SaysWhichFlagLacksItsValue) {
  EXPECT_THAT(parse_command_line(flag_table(), {"--mig-strategy"}).problems,
              ElementsAre("--mig-strategy: needs a value; write --mig-strategy=none"));
  EXPECT_THAT(parse_command_line(flag_table(), {"-v"}).problems,
              ElementsAre(HasSubstr("--version")));
}

TEST(CommandLine, RecognisesRequestsForHelpAndVersion) {
  for (const char* argument : {"--help", "-help", "-h", "--h", "--help=true"}) {
    EXPECT_TRUE(parse_command_line(flag_table(), {argument}).wants_help) << argument;
  }
  EXPECT_TRUE(parse_command_line(flag_table(), {"--version"}).wants_version);
  EXPECT_FALSE(parse_command_line(flag_table(), {"--help=false"}).wants_help);
  EXPECT_FALSE(parse_command_line(flag_table(), {"--", "--help"}).wants_help);
  EXPECT_THAT(parse_command_line(flag_table(), {"--help=maybe"}).problems,
              ElementsAre(HasSubstr("true or false")));
}

}  // namespace
}  // namespace tranche::programs
