// SPDX-License-Identifier: Apache-2.0
//
// One daemon's life, against the stand-in.
#include <fcntl.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>

#include "fixture.h"
#include "os/files.h"

namespace tranche::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(MpsDaemon, IsReadyOnlyWhenAClientGotThrough) {
  MpsNode node;
  std::filesystem::create_directories(node.folder(kGpuA));
  node.behave(kGpuA, "refuse");
  node.start_agent().set_plan(node.plan({kGpuA}));
  node.await_state(kGpuA, MpsState::kTrouble);
  EXPECT_THAT(node.wiring(kGpuA).problem,
              HasSubstr("a client does not get through: cuInit: CUDA error 805"));
  node.behave(kGpuA, "");
  node.await_state(kGpuA, MpsState::kReady);
  EXPECT_EQ(node.wiring(kGpuA).problem, "");
  EXPECT_TRUE(node.status(kGpuA).server_pid.has_value());
}

// No room for memory, clients or connections, and a terminated client.
TEST(MpsDaemon, ThatIsFullOrEndsAClientIsReady) {
  for (const char* code : {"2", "808", "809", "810"}) {
    MpsNode node;
    std::filesystem::create_directories(node.folder(kGpuA));
    node.behave(kGpuA, code);
    node.start_agent().set_plan(node.plan({kGpuA}));
    node.await_state(kGpuA, MpsState::kReady);
    EXPECT_EQ(node.status(kGpuA).restarts, 0U) << code;
  }
}

TEST(MpsDaemon, WhoseServerIsNotReadyYetIsAwaitedAndNotRestarted) {
  MpsNode node;
  node.start_agent().set_plan(node.plan({kGpuA}));
  node.await_state(kGpuA, MpsState::kReady);
  const int first = node.status(kGpuA).pid;
  node.behave(kGpuA, "807");
  node.await_state(kGpuA, MpsState::kTrouble);
  EXPECT_THAT(node.wiring(kGpuA).problem, HasSubstr("the MPS server is not ready for clients"));
  node.behave(kGpuA, "");
  node.await_state(kGpuA, MpsState::kReady);
  EXPECT_EQ(node.status(kGpuA).pid, first);
  EXPECT_EQ(node.status(kGpuA).restarts, 0U);
}

TEST(MpsDaemon, WhoseServerNeverGetsReadyIsRestarted) {
  MpsNode node;
  node.timings.recover = std::chrono::milliseconds(100);
  node.start_agent().set_plan(node.plan({kGpuA}));
  node.await_state(kGpuA, MpsState::kReady);
  node.behave(kGpuA, "807");
  node.await([&](const MpsReport& report) { return report.daemons[0].restarts > 0; }, "a restart");
}

TEST(MpsDaemon, CountsByItsAnswerWhereThereIsNoLibrary) {
  MpsNode node;
  node.take_away_libcuda();
  node.start_agent().set_plan(node.plan({kGpuA}));
  node.await_state(kGpuA, MpsState::kReady);
  EXPECT_THAT(node.log_text(), HasSubstr("there is no libcuda.so.1 to try it with"));
}

TEST(MpsDaemon, WaitsForADriverThatComesLate) {
  MpsNode node;
  const std::string control = node.root() + "/usr/bin/nvidia-cuda-mps-control";
  std::filesystem::rename(control, control + ".later");
  node.start_agent().set_plan(node.plan({kGpuA}));
  node.await_state(kGpuA, MpsState::kTrouble);
  EXPECT_THAT(node.status(kGpuA).last_problem,
              HasSubstr("nvidia-cuda-mps-control is not in the driver root " + node.root()));
  std::filesystem::rename(control + ".later", control);
  node.await_state(kGpuA, MpsState::kReady);
}

TEST(MpsDaemon, ShowsClientsTheirSocketAndNothingElse) {
  MpsNode node;
  node.start_agent().set_plan(node.plan({kGpuA}));
  node.await_state(kGpuA, MpsState::kReady);
  EXPECT_THAT(*list_directory(node.folder(kGpuA) + "/client"), ElementsAre("control"));
  EXPECT_EQ(node.wiring(kGpuA).pipe_directory, "/tmp/nvidia-mps");
  EXPECT_THAT(node.wiring(kGpuA).mounts,
              ElementsAre(MpsWiring::Mount{"/tmp/nvidia-mps", node.folder(kGpuA) + "/client"}));
  const UniqueFd client = node.connect_client(kGpuA);
  node.await([&](const MpsReport& report) { return report.daemons[0].clients > 0; }, "a client");
}

TEST(MpsDaemon, HasItsLimitsBeforeAnyClient) {
  MpsNode node;
  node.start_agent().set_plan(node.plan({kGpuA}, {{kGpuA, 20ULL << 30}}));
  node.await_state(kGpuA, MpsState::kReady);
  EXPECT_EQ(node.ask(kGpuA, "get_default_device_pinned_mem_limit 0"), "20G\n");
  // The canary's server read it at its start.
  const std::string server = fmt::format("{}", node.status(kGpuA).server_pid.value_or(0));
  EXPECT_EQ(node.ask(kGpuA, fmt::format("get_device_pinned_mem_limit {} 0", server)), "20G\n");
}

TEST(MpsDaemon, TakesANewLimitWhileItRuns) {
  MpsNode node;
  node.start_agent().set_plan(node.plan({kGpuA}));
  node.await_state(kGpuA, MpsState::kReady);
  const std::string server = fmt::format("{}", node.status(kGpuA).server_pid.value_or(0));
  EXPECT_EQ(node.ask(kGpuA, "get_default_device_pinned_mem_limit 0"), "80G\n");
  node.supervisor().set_plan(node.plan({kGpuA}, {{kGpuA, 40ULL << 30}}));
  await_condition(
      [&] {
        return node.ask(kGpuA, fmt::format("get_device_pinned_mem_limit {} 0", server)) ==
                   "40G\n" &&
               node.ask(kGpuA, "get_default_device_pinned_mem_limit 0") == "40G\n";
      },
      "a limit of 40 GiB for servers to come and the one that runs");
  EXPECT_EQ(node.status(kGpuA).restarts, 0U);
}

TEST(MpsDaemon, TakesANewLimitWhileItsCanaryHangs) {
  MpsNode node;
  node.start_agent().set_plan(node.plan({kGpuA}));
  node.await_state(kGpuA, MpsState::kReady);
  node.behave(kGpuA, "hang");
  await_condition(
      [&] {
        const std::string server = fmt::format("{}", node.status(kGpuA).server_pid.value_or(0));
        return node.ask(kGpuA, "get_client_list " + server).find_first_of("123456789") == 0;
      },
      "a canary that hangs");
  node.supervisor().set_plan(node.plan({kGpuA}, {{kGpuA, 30ULL << 30}}));
  await_condition(
      [&] { return node.ask(kGpuA, "get_default_device_pinned_mem_limit 0") == "30G\n"; },
      "a limit of 30 GiB");
  EXPECT_EQ(node.status(kGpuA).restarts, 0U);
}

TEST(MpsDaemon, ThatIsKilledComesBackForContainersThatAreThere) {
  MpsNode node;
  node.start_agent().set_plan(node.plan({kGpuA}, {{kGpuA, 20ULL << 30}}));
  node.await_state(kGpuA, MpsState::kReady);
  // A container mounts the folder, not its present content.
  const UniqueFd mounted(::open((node.folder(kGpuA) + "/client").c_str(), O_RDONLY | O_DIRECTORY));
  struct stat before = {};
  ASSERT_EQ(::fstatat(mounted.get(), "control", &before, 0), 0);
  const int first = node.status(kGpuA).pid;
  ::kill(first, SIGKILL);
  node.await([&](const MpsReport& report) { return report.daemons[0].restarts > 0; }, "a restart");
  node.await_state(kGpuA, MpsState::kReady);
  EXPECT_NE(node.status(kGpuA).pid, first);
  EXPECT_THAT(node.status(kGpuA).last_problem, HasSubstr("the MPS daemon ended with signal 9"));
  struct stat after = {};
  ASSERT_EQ(::fstatat(mounted.get(), "control", &after, 0), 0);
  EXPECT_NE(before.st_ino, after.st_ino);
  const UniqueFd client = node.connect_client(kGpuA);
  EXPECT_EQ(node.ask(kGpuA, "get_default_device_pinned_mem_limit 0"), "20G\n");
}

TEST(MpsDaemon, InFaultIsStartedAgain) {
  MpsNode node;
  node.start_agent().set_plan(node.plan({kGpuA}));
  node.await_state(kGpuA, MpsState::kReady);
  node.behave(kGpuA, "fault");
  node.await_state(kGpuA, MpsState::kTrouble);
  EXPECT_THAT(node.wiring(kGpuA).problem, HasSubstr("is in state FAULT"));
  node.await([&](const MpsReport& report) { return report.daemons[0].restarts > 0; }, "a restart");
  node.behave(kGpuA, "");
  node.await_state(kGpuA, MpsState::kReady);
}

TEST(MpsDaemon, ThatLetsClientsHangIsStartedAgain) {
  MpsNode node;
  node.timings.client = std::chrono::milliseconds(300);
  node.start_agent().set_plan(node.plan({kGpuA}));
  node.await_state(kGpuA, MpsState::kReady);
  node.behave(kGpuA, "hang");
  node.await_state(kGpuA, MpsState::kTrouble);
  EXPECT_THAT(node.wiring(kGpuA).problem, HasSubstr("a client that should have got through hangs"));
  node.behave(kGpuA, "");
  node.await_state(kGpuA, MpsState::kReady);
}

TEST(MpsDaemon, ThatDoesNotAnswerIsStartedAgain) {
  MpsNode node;
  node.timings.answer = std::chrono::milliseconds(300);
  node.start_agent().set_plan(node.plan({kGpuA}));
  node.await_state(kGpuA, MpsState::kReady);
  const int first = node.status(kGpuA).pid;
  node.behave(kGpuA, "mute");
  node.await_state(kGpuA, MpsState::kTrouble);
  EXPECT_THAT(node.wiring(kGpuA).problem, HasSubstr("the MPS daemon does not answer"));
  node.await([&](const MpsReport& report) { return report.daemons[0].restarts > 0; }, "a restart");
  node.behave(kGpuA, "");
  node.await_state(kGpuA, MpsState::kReady);
  EXPECT_NE(node.status(kGpuA).pid, first);
}

TEST(MpsDaemon, ComesBackWithoutTakingOtherGpusAlong) {
  MpsNode node;
  node.start_agent().set_plan(node.plan({kGpuA, kGpuB}));
  node.await_state(kGpuA, MpsState::kReady);
  node.await_state(kGpuB, MpsState::kReady);
  const UniqueFd neighbour = node.connect_client(kGpuB);
  const int other = node.status(kGpuB).pid;
  ::kill(node.status(kGpuA).pid, SIGKILL);
  node.await(
      [&](const MpsReport& report) {
        return report.daemons[0].restarts == 1 && report.daemons[0].state == MpsState::kReady;
      },
      "a restart");
  EXPECT_EQ(node.status(kGpuB).pid, other);
  EXPECT_EQ(node.status(kGpuB).restarts, 0U);
  EXPECT_THAT(node.ask(kGpuB, "ps"), HasSubstr(fmt::format("{}", ::getpid())));
}

TEST(MpsDaemon, LeavesNothingBehind) {
  MpsNode node;
  node.start_agent().set_plan(node.plan({kGpuA, kGpuB}));
  node.await_state(kGpuA, MpsState::kReady);
  node.await_state(kGpuB, MpsState::kReady);
  // One is busy with a client that does not end.
  const UniqueFd client = node.connect_client(kGpuA);
  node.supervisor().stop();
  EXPECT_THAT(node.processes(kGpuA), IsEmpty());
  EXPECT_THAT(node.processes(kGpuB), IsEmpty());
  EXPECT_THAT(*list_directory(node.directory()), IsEmpty());
  EXPECT_THAT(node.supervisor().reports().get().value->wirings, IsEmpty());
}

TEST(MpsDaemon, SetsTheComputeModeOnlyWhereAsked) {
  MpsNode node;
  auto calls = std::make_shared<std::vector<std::string>>();
  auto mutex = std::make_shared<std::mutex>();
  node.compute_mode.set = [calls, mutex](const std::string& uuid, bool exclusive) -> Status {
    const std::lock_guard lock(*mutex);
    calls->push_back(uuid + (exclusive ? " exclusive" : " default"));
    return Done{};
  };
  MpsPlan plan = node.plan({kGpuA, kGpuB});
  plan.daemons[0].exclusive = true;
  node.start_agent().set_plan(plan);
  node.await_state(kGpuA, MpsState::kReady);
  node.await_state(kGpuB, MpsState::kReady);
  node.supervisor().stop();
  const std::lock_guard lock(*mutex);
  EXPECT_THAT(*calls,
              ElementsAre(std::string(kGpuA) + " exclusive", std::string(kGpuA) + " default"));
}

// For example while the driver's package is replaced.
TEST(MpsDaemon, WhoseProgramsAreAwayIsNotEnded) {
  MpsNode node;
  node.log_everything();
  node.start_agent().set_plan(node.plan({kGpuA}));
  node.await_state(kGpuA, MpsState::kReady);
  const int first = node.status(kGpuA).pid;
  const std::string control = node.root() + "/usr/bin/nvidia-cuda-mps-control";
  std::filesystem::rename(control, control + ".away");
  const auto told = [&](LogLevel level) {
    const std::string line =
        format_log_line(LogFormat::kText, level, "mps daemon may be in trouble", {});
    const std::string log = node.log_text();
    int count = 0;
    for (auto at = log.find(line); at != std::string::npos; at = log.find(line, at + 1)) ++count;
    return count;
  };
  await_condition([&] { return told(LogLevel::kDebug) > 2; }, "several questions in vain");
  EXPECT_EQ(told(LogLevel::kWarning), 1);
  node.await_state(kGpuA, MpsState::kTrouble);
  std::filesystem::rename(control + ".away", control);
  node.await_state(kGpuA, MpsState::kReady);
  EXPECT_THAT(node.log_text(), HasSubstr("mps daemon answers again"));
  EXPECT_EQ(node.status(kGpuA).pid, first);
  EXPECT_EQ(node.status(kGpuA).restarts, 0U);
}

TEST(MpsDaemon, PutsTheComputeModeBackUntilItIsDone) {
  MpsNode node;
  auto failures = std::make_shared<std::atomic<int>>(0);
  node.compute_mode.set = [failures](const std::string&, bool exclusive) -> Status {
    if (exclusive || ++*failures > 2) return Done{};
    return Error{ErrorCode::kUnavailable, "the driver is busy"};
  };
  MpsPlan plan = node.plan({kGpuA});
  plan.daemons[0].exclusive = true;
  node.start_agent().set_plan(plan);
  node.await_state(kGpuA, MpsState::kReady);
  node.supervisor().stop();
  EXPECT_EQ(*failures, 3);
  EXPECT_THAT(*list_directory(node.directory()), IsEmpty());
  EXPECT_THAT(node.log_text(), HasSubstr("the driver is busy"));
}

// Only while something waits for it.
TEST(MpsDaemon, DoesNotKeepAnAgentFromEndingByAComputeModeThatCannotBePutBack) {
  MpsNode node;
  node.compute_mode.set = [](const std::string&, bool exclusive) -> Status {
    return exclusive ? Status(Done{}) : Error{ErrorCode::kUnavailable, "the driver is gone"};
  };
  MpsPlan plan = node.plan({kGpuA});
  plan.daemons[0].exclusive = true;
  node.start_agent().set_plan(plan);
  node.await_state(kGpuA, MpsState::kReady);
  node.supervisor().set_plan({.directory = node.directory()});
  await_condition(
      [&] {
        return node.log_text().find("cannot restore the compute mode yet") != std::string::npos;
      },
      "the first failure");
  node.end_agent();
  EXPECT_TRUE(path_exists(node.folder(kGpuA) + "/exclusive"));
}

}  // namespace
}  // namespace tranche::tests
