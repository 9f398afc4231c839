// SPDX-License-Identifier: Apache-2.0
#include "testbed/process/agent_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

namespace tranche::testbed::standin {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr seconds kPatience{20};

std::unique_ptr<AgentProcess> shell(const std::string& script,
                                    std::map<std::string, std::string> environment = {}) {
  auto process = AgentProcess::start(
      {.command = {"/bin/sh", "-c", script}, .environment = std::move(environment)});
  EXPECT_TRUE(process) << process.error().message;
  return std::move(*process);
}

TEST(AgentProcess, CollectsTheLinesOfBothStreams) {
  const auto process = shell("echo one; echo two >&2; printf 'no newline'");
  ASSERT_TRUE(process->wait_for_line("^one$", kPatience));
  ASSERT_TRUE(process->wait_for_line("^no newline$", kPatience));
  const auto two = process->wait_for_line("^two$", kPatience);
  ASSERT_TRUE(two);
  EXPECT_EQ(process->lines()[two->index].stream, AgentProcess::Stream::kError);
  EXPECT_EQ(*process->wait_for_end(kPatience), (ProcessEnd{.exit_code = 0}));
}

TEST(AgentProcess, GivesTheGroupsOfALineAndGoesOnBehindIt) {
  const auto process = shell("echo port=1; echo port=2; sleep 100");
  const auto first = process->wait_for_line("port=([0-9]+)", kPatience);
  ASSERT_TRUE(first);
  EXPECT_THAT(first->groups, ElementsAre("port=1", "1"));
  const auto second = process->wait_for_line("port=([0-9]+)", kPatience, first->index + 1);
  ASSERT_TRUE(second);
  EXPECT_THAT(second->groups, ElementsAre("port=2", "2"));
}

TEST(AgentProcess, WaitsForALineThatComesLater) {
  const auto process = shell("read line; echo \"got $line\"");
  EXPECT_FALSE(process->wait_for_line("got", milliseconds(0)));
  ASSERT_TRUE(process->write_line("hello"));
  EXPECT_TRUE(process->wait_for_line("^got hello$", kPatience));
}

TEST(AgentProcess, FailsAtOnceWhereTheProcessEndedWithoutTheLine) {
  const auto process = shell("echo something else; exit 3");
  const auto line = process->wait_for_line("never", std::chrono::hours(1));
  ASSERT_FALSE(line);
  EXPECT_THAT(line.error().message, HasSubstr("the process has ended"));
  EXPECT_THAT(line.error().message, HasSubstr("something else"));
  EXPECT_EQ(*process->wait_for_end(kPatience), (ProcessEnd{.exit_code = 3}));
}

TEST(AgentProcess, RefusesAnExpressionThatIsNone) {
  const auto process = shell("exit 0");
  EXPECT_FALSE(process->wait_for_line("(", kPatience));
}

TEST(AgentProcess, SetsVariablesBesideItsOwnEnvironment) {
  const auto process = shell("echo \"$GREETING ${PATH:+has a path}\"", {{"GREETING", "hello"}});
  EXPECT_TRUE(process->wait_for_line("^hello has a path$", kPatience));
}

TEST(AgentProcess, CanStartWithAnEmptyEnvironment) {
  auto process = AgentProcess::start(
      {.command = {"/bin/sh", "-c", "echo \"[$HOME]\""}, .inherits_environment = false});
  ASSERT_TRUE(process);
  EXPECT_TRUE((*process)->wait_for_line("^\\[\\]$", kPatience));
}

TEST(AgentProcess, TellsTheSignalThatEndedIt) {
  const auto process = shell("echo ready; exec sleep 100");
  ASSERT_TRUE(process->wait_for_line("ready", kPatience));
  EXPECT_FALSE(process->wait_for_end(milliseconds(0)));
  ASSERT_TRUE(process->signal(SIGTERM));
  const auto end = process->wait_for_end(kPatience);
  ASSERT_TRUE(end);
  EXPECT_EQ(*end, (ProcessEnd{.signal = SIGTERM}));
  EXPECT_EQ(to_string(*end), "ended by signal 15");
  EXPECT_FALSE(process->signal(SIGTERM)) << "it is over";
}

TEST(AgentProcess, DeliversASignalThatTheProgramHandles) {
  const auto process =
      shell("trap 'echo caught; exit 7' HUP; echo ready; while :; do sleep 0.01; done");
  ASSERT_TRUE(process->wait_for_line("ready", kPatience));
  ASSERT_TRUE(process->signal(SIGHUP));
  EXPECT_TRUE(process->wait_for_line("caught", kPatience));
  EXPECT_EQ(*process->wait_for_end(kPatience), (ProcessEnd{.exit_code = 7}));
}

TEST(AgentProcess, EndsTheInputWhenAsked) {
  const auto process = shell("cat; echo end");
  ASSERT_TRUE(process->write_line("text"));
  process->close_input();
  EXPECT_TRUE(process->wait_for_line("^end$", kPatience));
  EXPECT_EQ(process->output(), "text\nend\n");
}

TEST(AgentProcess, FailsToWriteToAProcessThatEnded) {
  const auto process = shell("exit 0");
  ASSERT_TRUE(process->wait_for_end(kPatience));
  EXPECT_FALSE(process->write_line("too late"));
}

TEST(AgentProcess, KillsItsWholeFamilyInTheEnd) {
  auto process = shell("sh -c 'echo child=$$; exec sleep 1000' & trap '' TERM; wait; sleep 1000");
  const auto child = process->wait_for_line("child=([0-9]+)", kPatience);
  ASSERT_TRUE(child);
  const pid_t parent = process->pid();
  process.reset();
  EXPECT_EQ(::kill(parent, 0), -1);
  EXPECT_EQ(errno, ESRCH);
  // Whoever adopts the child reaps it in its own time: a zombie is dead, too.
  const std::string stat = "/proc/" + child->groups[1] + "/stat";
  const auto watch =
      shell("while grep -qs ') [^ZX] ' " + stat + "; do sleep 0.01; done; echo dead");
  EXPECT_TRUE(watch->wait_for_line("^dead$", kPatience));
}

TEST(AgentProcess, NamesAProgramThatCannotBeStarted) {
  const auto missing = AgentProcess::start({.command = {"/nowhere/at/all"}});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "starting /nowhere/at/all: No such file or directory");
  EXPECT_FALSE(AgentProcess::start({}));
}

}  // namespace
}  // namespace tranche::testbed::standin
