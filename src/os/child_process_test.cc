// SPDX-License-Identifier: Apache-2.0
#include "os/child_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/daemon_output.h"
#include "os/testing/temp_dir.h"

namespace tranche::os {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Command shell(const std::string& script, std::vector<std::string> environment = {}) {
  environment.emplace_back("PATH=/usr/bin:/bin");
  return {{"/bin/sh", "-c", script}, std::move(environment)};
}

TEST(RunProgram, GivesInputAndTakesOutput) {
  const auto done = run_program(shell("cat; echo no >&2; exit 3"), "hello\n", seconds(30));
  ASSERT_TRUE(done);
  EXPECT_EQ(done->exit_code, 3);
  EXPECT_EQ(done->out, "hello\n");
  EXPECT_EQ(done->err, "no\n");
}

TEST(RunProgram, PassesNothingOnThatWasNotGiven) {
  ::setenv("TRANCHE_LEAK", "x", 1);  // NOLINT(concurrency-mt-unsafe)
  const auto done =
      run_program(shell("echo \"$TRANCHE_LEAK$GIVEN\"", {"GIVEN=y"}), "", seconds(30));
  ASSERT_TRUE(done);
  EXPECT_EQ(done->out, "y\n");
}

TEST(RunProgram, KillsWhatTakesTooLong) {
  const auto done = run_program(shell("exec sleep 1000"), "", milliseconds(50));
  ASSERT_TRUE(done);
  EXPECT_FALSE(done->exit_code.has_value());
}

TEST(RunProgram, KeepsABoundedPartOfEndlessOutput) {
  const auto done = run_program(shell("yes | head -c 1000000"), "", seconds(30));
  ASSERT_TRUE(done);
  EXPECT_EQ(done->exit_code, 0);
  EXPECT_EQ(done->out.size(), 65536U);
}

TEST(RunProgram, SaysWhatCannotBeStarted) {
  const auto done = run_program({{"/nonexistent/program"}, {}}, "", seconds(30));
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("starting /nonexistent/program: No such file"));
}

TEST(AProcess, IsInASessionOfItsOwnAndTellsItsEnd) {
  Result<Process> process = Process::spawn(shell("exec sleep 1000"), {});
  ASSERT_TRUE(process);
  EXPECT_EQ(::getsid(process->pid()), process->pid());
  EXPECT_FALSE(process->has_ended());
  EXPECT_FALSE(process->wait(milliseconds(1)));
  process->kill();
  EXPECT_TRUE(process->wait(seconds(30)));
  EXPECT_EQ(process->ending(), "signal 9");
  EXPECT_FALSE(process->exit_code().has_value());
}

TEST(AProcess, IsInOurSessionWhereWeWantIt) {
  Command command = shell("exec sleep 1000");
  command.own_session = false;
  Result<Process> process = Process::spawn(command, {});
  ASSERT_TRUE(process);
  EXPECT_EQ(::getsid(process->pid()), ::getsid(0));
  process->kill(SIGTERM);
  EXPECT_TRUE(process->wait(seconds(30)));
  EXPECT_EQ(process->ending(), "signal 15");
}

TEST(AProcess, IsFoundInOurPathByItsNameAlone) {
  const auto done = run_program({{"sh", "-c", "echo found"}, {}}, "", seconds(30));
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->out, "found\n");
}

TEST(OwnEnvironment, IsWhatAProgramThatInheritsItGets) {
  ::setenv("TRANCHE_OWN", "a=b", 1);  // NOLINT(concurrency-mt-unsafe)
  EXPECT_EQ(own_environment().at("TRANCHE_OWN"), "a=b");
  EXPECT_THAT(environment_list({{"A", "b=c"}, {"D", ""}}), ElementsAre("A=b=c", "D="));
}

TEST(AProcess, IsFoundByItsEnvironmentAndItsWords) {
  const std::string mine = "TRANCHE_TEST_" + std::to_string(::getpid()) + "=1";
  // No shell: a process that it forks has its arguments until exec.
  Result<Process> process = Process::spawn({{"/bin/sleep", "1000"}, {mine, "PATH=/nowhere"}}, {});
  ASSERT_TRUE(process);
  // posix_spawn returns a moment before the new arguments are in place.
  while (find_processes(mine, "1000").empty() && !process->wait(milliseconds(1))) {
  }
  EXPECT_THAT(find_processes(mine, "1000"), ElementsAre(process->pid()));
  EXPECT_THAT(find_processes(mine, "not-there"), IsEmpty());
  EXPECT_THAT(find_processes(mine + "2", "1000"), IsEmpty());
  EXPECT_EQ(variable_of(process->pid(), "PATH"), "/nowhere");
  EXPECT_EQ(variable_of(process->pid(), "PAT"), std::nullopt);
  ::kill(process->pid(), SIGKILL);
  EXPECT_TRUE(process->wait(seconds(30)));
}

TEST(AProcess, IsOpenedOnlyWhereItIsTheOneMeant) {
  const std::string mine = "TRANCHE_TEST_OPEN_" + std::to_string(::getpid()) + "=1";
  Result<Process> process = Process::spawn({{"/bin/sleep", "1000"}, {mine}}, {});
  ASSERT_TRUE(process);
  while (!is_process(process->pid(), mine, "1000") && !process->wait(milliseconds(1))) {
  }
  EXPECT_FALSE(open_process(process->pid(), mine, "another").has_value());
  EXPECT_FALSE(open_process(process->pid(), mine + "2", "1000").has_value());
  std::optional<Process> opened = open_process(process->pid(), mine, "1000");
  ASSERT_TRUE(opened.has_value());
  opened->kill();
  EXPECT_TRUE(opened->wait(seconds(30)));
  EXPECT_FALSE(open_process(process->pid(), mine, "1000").has_value());
}

TEST(DaemonOutput, NeverBlocksItsWriterAndGivesTheNewestLines) {
  const TempDir dir;
  Result<DaemonOutput> output = DaemonOutput::open(dir.path("output"));
  ASSERT_TRUE(output);
  const Result<UniqueFd> out = output->writing_end();
  ASSERT_TRUE(out);
  // Far more than a pipe holds, without a reader.
  Result<Process> writer = Process::spawn(
      shell("i=0; while [ $i -lt 20000 ]; do echo a line of log; i=$((i+1)); done; exit 0"),
      {.out = out->get()});
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->wait(seconds(60)));
  EXPECT_EQ(writer->exit_code(), 0);
  EXPECT_EQ(output->take_lines().size(), 100U);
  EXPECT_EQ(output->last_line(), "a line of log");
  EXPECT_THAT(output->take_lines(), IsEmpty());
}

}  // namespace
}  // namespace tranche::os
