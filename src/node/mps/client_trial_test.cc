// SPDX-License-Identifier: Apache-2.0
#include "node/mps/client_trial.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "os/testing/temp_dir.h"

namespace tranche::node {
namespace {

using testing::HasSubstr;

Command shell(const std::string& text) { return {.words = {"/bin/sh", "-c", text}}; }

TEST(ClientTrial, JudgesByTheClientsEndAndItsLastWords) {
  const TempDir dir;
  const auto waits = [](const Process&) { return true; };
  ClientTrial trial;
  EXPECT_TRUE(trial.run(shell("exit 0"), dir.path("said"), waits).through);
  const CanaryVerdict failed = trial.run(shell("echo no; exit 1"), dir.path("said"), waits);
  EXPECT_FALSE(failed.through);
  EXPECT_THAT(failed.problem, HasSubstr("no"));
  EXPECT_TRUE(trial.run(shell("exit 2"), dir.path("said"), waits).no_library);
}

TEST(ClientTrial, EndsAClientThatIsNotWaitedFor) {
  const TempDir dir;
  ClientTrial trial;
  pid_t pid = 0;
  const CanaryVerdict verdict =
      trial.run(shell("exec sleep 1000"), dir.path("said"), [&](const Process& client) {
        pid = client.pid();
        return false;
      });
  EXPECT_FALSE(verdict.through);
  EXPECT_TRUE(Process::of(pid).has_ended());
  EXPECT_EQ(trial.stuck(), "");
}

// The GPU hangs and is reset later.
TEST(ClientTrial, StartsNoneBesideOneThatHangs) {
  const TempDir dir;
  ClientTrial trial;
  Result<Process> process = Process::spawn(shell("exec sleep 1000"), {});
  ASSERT_TRUE(process) << process.error().message;
  const pid_t pid = process->pid();
  trial.remember(*std::move(process));
  EXPECT_THAT(trial.stuck(), HasSubstr(fmt::format("process {}", pid)));
  const auto waits = [](const Process&) { return true; };
  const CanaryVerdict verdict = trial.run(shell("exit 0"), dir.path("said"), waits);
  EXPECT_FALSE(verdict.through);
  EXPECT_THAT(verdict.problem, HasSubstr("hangs in the driver"));

  Process same = Process::of(pid);
  same.kill();
  ASSERT_TRUE(same.wait(std::chrono::seconds(60)));
  EXPECT_EQ(trial.stuck(), "");
  EXPECT_TRUE(trial.run(shell("exit 0"), dir.path("said"), waits).through);
}

}  // namespace
}  // namespace tranche::node
