// SPDX-License-Identifier: Apache-2.0
//
// Daemons that outlive an agent.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"
#include "os/files.h"

namespace tranche::tests {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(MpsSupervisor, AdoptsADaemonThatOutlivedTheAgent) {
  MpsNode node;
  node.start_agent().set_plan(node.plan({kGpuA}));
  node.await_state(kGpuA, MpsState::kReady);
  const int daemon = node.status(kGpuA).pid;
  const UniqueFd client = node.connect_client(kGpuA);
  node.end_agent();
  // It goes on without a reader of its output.
  for (int i = 0; i < 500; ++i) ASSERT_THAT(node.ask(kGpuA, "ps"), HasSubstr("COMMAND"));

  node.start_agent().set_plan(node.plan({kGpuA}, {{kGpuA, 20ULL << 30}}));
  node.await_state(kGpuA, MpsState::kReady);
  EXPECT_EQ(node.status(kGpuA).pid, daemon);
  EXPECT_TRUE(node.status(kGpuA).adopted);
  EXPECT_EQ(node.status(kGpuA).restarts, 0U);
  EXPECT_EQ(node.ask(kGpuA, "get_default_device_pinned_mem_limit 0"), "20G\n");
  EXPECT_THAT(node.ask(kGpuA, "ps"), HasSubstr(fmt::format("{}", ::getpid())));
}

// Its clients would end with it.
TEST(MpsSupervisor, AdoptsADaemonThatAnswersTheSecondTime) {
  for (const char* trouble : {"mute", "refuse"}) {
    MpsNode node;
    node.start_agent().set_plan(node.plan({kGpuA}));
    node.await_state(kGpuA, MpsState::kReady);
    const int daemon = node.status(kGpuA).pid;
    node.end_agent();
    node.behave(kGpuA, trouble);
    node.timings.answer = std::chrono::seconds(2);
    node.timings.least_backoff = std::chrono::seconds(5);
    node.start_agent().set_plan(node.plan({kGpuA}));
    node.await_state(kGpuA, MpsState::kTrouble);
    node.behave(kGpuA, "");
    node.await_state(kGpuA, MpsState::kReady);
    EXPECT_EQ(node.status(kGpuA).pid, daemon) << trouble;
    EXPECT_EQ(node.status(kGpuA).restarts, 0U) << trouble;
  }
}

// Root in a container can create it in a writable mount of the pipe folder.
TEST(MpsSupervisor, DoesNotWaitForANamedPipeInPlaceOfThePidFile) {
  MpsNode node;
  node.start_agent().set_plan(node.plan({kGpuA}));
  node.await_state(kGpuA, MpsState::kReady);
  node.end_agent();
  const std::string file = node.folder(kGpuA) + "/pipe/nvidia-cuda-mps-control.pid";
  ASSERT_EQ(::unlink(file.c_str()), 0);
  ASSERT_EQ(::mkfifo(file.c_str(), 0666), 0);
  node.start_agent().set_plan(node.plan({kGpuA}));
  node.await_state(kGpuA, MpsState::kReady);
  EXPECT_FALSE(node.status(kGpuA).adopted);
  node.supervisor().stop();
  EXPECT_THAT(node.processes(kGpuA), IsEmpty());
}

TEST(MpsSupervisor, RestartsAnAdoptedDaemonThatEnds) {
  MpsNode node;
  node.start_agent().set_plan(node.plan({kGpuA}));
  node.await_state(kGpuA, MpsState::kReady);
  node.end_agent();
  node.start_agent().set_plan(node.plan({kGpuA}));
  node.await_state(kGpuA, MpsState::kReady);
  const int adopted = node.status(kGpuA).pid;
  ::kill(adopted, SIGKILL);
  node.await([&](const MpsReport& report) { return report.daemons[0].restarts > 0; }, "a restart");
  node.await_state(kGpuA, MpsState::kReady);
  EXPECT_NE(node.status(kGpuA).pid, adopted);
  EXPECT_FALSE(node.status(kGpuA).adopted);
}

TEST(MpsSupervisor, EndsWhatAnEarlierAgentLeftAndNobodyWants) {
  MpsNode node;
  node.start_agent().set_plan(node.plan({kGpuA, kGpuB}));
  node.await_state(kGpuA, MpsState::kReady);
  node.await_state(kGpuB, MpsState::kReady);
  node.end_agent();
  node.start_agent().set_plan(node.plan({kGpuB}));
  node.await_state(kGpuB, MpsState::kReady);
  await_condition([&] { return !path_exists(node.folder(kGpuA)); }, "the folder's end");
  EXPECT_THAT(node.processes(kGpuA), IsEmpty());
  EXPECT_TRUE(node.status(kGpuB).adopted);
}

TEST(MpsSupervisor, EndsWhatAnEarlierAgentLeftWhereDaemonsOfOthersTakeOver) {
  MpsNode node;
  node.start_agent().set_plan(node.plan({kGpuA}));
  node.await_state(kGpuA, MpsState::kReady);
  node.end_agent();
  const MpsOptions others{
      .daemons = MpsDaemons::kOutside, .pipe = "/tmp/nvidia-mps", .directory = node.directory()};
  node.start_agent().set_plan(plan_mps({}, others, {}));
  await_condition([&] { return !path_exists(node.folder(kGpuA)); }, "the folder's end");
  EXPECT_THAT(node.processes(kGpuA), IsEmpty());
}

TEST(MpsSupervisor, TakesOverAFolderThatAKilledDaemonLeft) {
  MpsNode node;
  node.start_agent().set_plan(node.plan({kGpuA}));
  node.await_state(kGpuA, MpsState::kReady);
  const int daemon = node.status(kGpuA).pid;
  const int server = node.status(kGpuA).server_pid.value_or(0);
  node.end_agent();
  ::kill(daemon, SIGKILL);
  ASSERT_TRUE(path_exists(node.folder(kGpuA) + "/pipe/nvidia-cuda-mps-control.pid"));
  node.start_agent().set_plan(node.plan({kGpuA}));
  node.await_state(kGpuA, MpsState::kReady);
  EXPECT_NE(node.status(kGpuA).pid, daemon);
  EXPECT_FALSE(node.status(kGpuA).adopted);
  // The dead daemon's server is gone.
  EXPECT_THAT(node.processes(kGpuA), Not(Contains(server)));
  EXPECT_NE(node.status(kGpuA).server_pid, server);
}

}  // namespace
}  // namespace tranche::tests
