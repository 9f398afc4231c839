// SPDX-License-Identifier: Apache-2.0
//
// Changes by other programs of a running daemon: its limits and its GPUs' compute mode.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <memory>

#include "fixture.h"

namespace tranche::tests {
namespace {

using testing::HasSubstr;

TEST(MpsDaemon, SetsALimitAgainThatSomebodyElseChangedAndReportsIt) {
  MpsNode node;
  node.start_agent().set_plan(node.plan({kGpuA}, {{kGpuA, 20ULL << 30}}));
  node.await_state(kGpuA, MpsState::kReady);
  const std::string server = fmt::format("{}", node.status(kGpuA).server_pid.value_or(0));
  const std::string own = fmt::format("get_device_pinned_mem_limit {} 0", server);
  node.ask(kGpuA, fmt::format("set_device_pinned_mem_limit {} 0 64G", server));
  node.await(
      [&](const MpsReport& report) {
        return report.daemons[0].foreign_command ==
               fmt::format("set_device_pinned_mem_limit {} 0 64G", server);
      },
      "a report of the command");
  await_condition([&] { return node.ask(kGpuA, own) == "20G\n"; }, "the limit of 20 GiB");
  EXPECT_THAT(node.log_text(), HasSubstr("mps daemon got a command from another program"));
  node.ask(kGpuA, fmt::format("set_active_thread_percentage {} 10", server));
  await_condition(
      [&] { return node.ask(kGpuA, "get_active_thread_percentage " + server) == "100.0\n"; },
      "all threads");
  node.ask(kGpuA, fmt::format("terminate_client {} 1", server));
  node.await(
      [&](const MpsReport& report) {
        return report.daemons[0].foreign_command == fmt::format("terminate_client {} 1", server);
      },
      "a report of that command");
  EXPECT_EQ(node.status(kGpuA).restarts, 0U);
}

TEST(MpsDaemon, ReportsNoCommandOfItsOwnAsSomebodyElses) {
  MpsNode node;
  node.start_agent().set_plan(node.plan({kGpuA}));
  node.await_state(kGpuA, MpsState::kReady);
  node.supervisor().set_plan(node.plan({kGpuA}, {{kGpuA, 20ULL << 30}}));
  await_condition(
      [&] { return node.ask(kGpuA, "get_default_device_pinned_mem_limit 0") == "20G\n"; },
      "a limit of 20 GiB");
  node.end_agent();
  node.start_agent().set_plan(node.plan({kGpuA}, {{kGpuA, 30ULL << 30}}));
  await_condition(
      [&] { return node.ask(kGpuA, "get_default_device_pinned_mem_limit 0") == "30G\n"; },
      "a limit of 30 GiB");
  node.await_state(kGpuA, MpsState::kReady);
  EXPECT_EQ(node.status(kGpuA).foreign_command, "");
}

TEST(MpsDaemon, SaysWhichClientsCanLiftTheirLimits) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be two users";
  MpsNode node;
  MpsPlan plan = node.plan({kGpuA});
  plan.rules.clients = MpsClients::kNonRoot;
  node.start_agent().set_plan(plan);
  node.await_state(kGpuA, MpsState::kReady);
  const pid_t other = node.let_stranger_in(kGpuA, 65534, "client");
  node.await(
      [&](const MpsReport& report) {
        return report.daemons[0].clients == 1 && report.daemons[0].root_clients.empty();
      },
      "a client that is not root");
  EXPECT_EQ(node.status(kGpuA).limits_hold_for(), "non-root clients");
  const pid_t root = node.let_stranger_in(kGpuA, 0, "client");
  node.await(
      [&](const MpsReport& report) {
        return report.daemons[0].root_clients == std::vector<int>{root};
      },
      "a client that is root");
  EXPECT_EQ(node.status(kGpuA).limits_hold_for(), fmt::format("all clients but {} (root)", root));
  EXPECT_THAT(node.log_text(),
              HasSubstr("mps clients run as root although mps.clients is non-root"));
  ::kill(other, SIGKILL);
}

TEST(MpsDaemon, SetsTheComputeModeAgainThatSomebodyElseChanged) {
  MpsNode node;
  auto exclusive = std::make_shared<std::atomic<bool>>(false);
  node.compute_mode = {.set = [exclusive](const std::string&, bool wanted) -> Status {
                         *exclusive = wanted;
                         return Done{};
                       },
                       .is_exclusive = [exclusive](const std::string&) -> Result<bool> {
                         return exclusive->load();
                       }};
  MpsPlan plan = node.plan({kGpuA});
  plan.daemons[0].exclusive = true;
  node.start_agent().set_plan(plan);
  node.await_state(kGpuA, MpsState::kReady);
  *exclusive = false;
  await_condition([&] { return exclusive->load(); }, "the mode of before");
  await_condition(
      [&] {
        return node.log_text().find("compute mode was changed by another program") !=
               std::string::npos;
      },
      "a warning");
  EXPECT_EQ(node.status(kGpuA).restarts, 0U);
}

TEST(MpsDaemon, WhoseComputeModeCannotBeSetAgainTakesNobodyAndIsNotEnded) {
  MpsNode node;
  auto exclusive = std::make_shared<std::atomic<bool>>(false);
  auto broken = std::make_shared<std::atomic<bool>>(false);
  node.compute_mode = {.set = [exclusive, broken](const std::string&, bool wanted) -> Status {
                         if (*broken) return Error{ErrorCode::kUnavailable, "no permission"};
                         *exclusive = wanted;
                         return Done{};
                       },
                       .is_exclusive = [exclusive](const std::string&) -> Result<bool> {
                         return exclusive->load();
                       }};
  MpsPlan plan = node.plan({kGpuA});
  plan.daemons[0].exclusive = true;
  node.start_agent().set_plan(plan);
  node.await_state(kGpuA, MpsState::kReady);
  *broken = true;
  *exclusive = false;
  node.await_state(kGpuA, MpsState::kTrouble);
  EXPECT_THAT(node.wiring(kGpuA).problem, HasSubstr("no permission"));
  *broken = false;
  node.await_state(kGpuA, MpsState::kReady);
  EXPECT_EQ(node.status(kGpuA).restarts, 0U);
}

// However long the release lasts.
TEST(MpsDaemon, PutsTheComputeModeBackWhenTheDriverIsNoLongerReleased) {
  struct Driver {
    std::atomic<bool> exclusive = false;
    std::atomic<bool> released = false;
    std::atomic<int> refusals = 0;
  };
  auto driver = std::make_shared<Driver>();
  MpsNode node;
  node.compute_mode = {.set = [driver](const std::string&, bool wanted) -> Status {
                         if (driver->released) {
                           ++driver->refusals;
                           return Error{ErrorCode::kUnavailable, "the driver is released"};
                         }
                         driver->exclusive = wanted;
                         return Done{};
                       },
                       .is_exclusive = [driver](const std::string&) -> Result<bool> {
                         return driver->exclusive.load();
                       },
                       .is_released = [driver] { return driver->released.load(); }};
  MpsPlan plan = node.plan({kGpuA});
  plan.daemons[0].exclusive = true;
  node.start_agent().set_plan(plan);
  node.await_state(kGpuA, MpsState::kReady);
  driver->released = true;
  node.supervisor().set_plan(node.plan({}));
  await_condition([&] { return driver->refusals > 20; }, "many tries");
  EXPECT_TRUE(driver->exclusive);
  driver->released = false;
  await_condition([&] { return !driver->exclusive; }, "the mode of before");
}

}  // namespace
}  // namespace tranche::tests
