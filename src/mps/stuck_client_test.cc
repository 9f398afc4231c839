// SPDX-License-Identifier: Apache-2.0
#include "mps/stuck_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tranche {
namespace {

using testing::HasSubstr;

TEST(StuckClient, IsAProblemUntilItIsGone) {
  StuckClient stuck;
  EXPECT_EQ(stuck.problem(), "");
  Result<Process> process = Process::spawn({.words = {"/bin/sleep", "1000"}}, {});
  ASSERT_TRUE(process) << process.error().message;
  const pid_t pid = process->pid();
  stuck.remember(*std::move(process));
  EXPECT_THAT(stuck.problem(), HasSubstr("process " + std::to_string(pid)));
  // The GPU was reset.
  Process same = Process::of(pid);
  same.kill();
  ASSERT_TRUE(same.wait(std::chrono::seconds(60)));
  EXPECT_EQ(stuck.problem(), "");
}

}  // namespace
}  // namespace tranche
