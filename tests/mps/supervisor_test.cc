// SPDX-License-Identifier: Apache-2.0
//
// The supervisor follows the plan, and leaves foreign daemons alone.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "fixture.h"
#include "os/files.h"
#include "os/testing/unix_socket.h"

namespace tranche::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(MpsSupervisor, DrainsADeviceThatLeavesThePlan) {
  MpsNode node;
  node.start_agent().set_plan(node.plan({kGpuA, kGpuB}));
  node.await_state(kGpuA, MpsState::kReady);
  node.await_state(kGpuB, MpsState::kReady);
  node.supervisor().set_plan(node.plan({kGpuB}));
  node.await([](const MpsReport& report) { return report.daemons.size() == 1; }, "one daemon");
  EXPECT_THAT(node.processes(kGpuA), IsEmpty());
  EXPECT_FALSE(path_exists(node.folder(kGpuA)));
  EXPECT_EQ(node.status(kGpuB).restarts, 0U);
  node.supervisor().set_plan(node.plan({kGpuA, kGpuB}));
  node.await_state(kGpuA, MpsState::kReady);
}

TEST(MpsSupervisor, ReplacesADaemonThatIsWantedInAnotherShape) {
  MpsNode node;
  node.start_agent().set_plan(node.plan({kGpuA}));
  node.await_state(kGpuA, MpsState::kReady);
  const int first = node.status(kGpuA).pid;
  MpsPlan plan = node.plan({kGpuA});
  plan.daemons[0].devices.emplace_back(kGpuB);
  plan.daemons[0].limits.emplace_back();
  node.supervisor().set_plan(plan);
  node.await(
      [&](const MpsReport& report) {
        return report.daemons.size() == 1 && report.daemons[0].state == MpsState::kReady &&
               report.daemons[0].plan.devices.size() == 2;
      },
      "a daemon for both");
  EXPECT_NE(node.status(kGpuA).pid, first);
  EXPECT_EQ(node.wiring(kGpuB).ordinal, std::nullopt);
}

TEST(MpsSupervisor, SaysWhyADeviceIsRefused) {
  MpsNode node;
  MpsPlan plan;
  plan.refused["MIG-1"] = "not this one";
  node.start_agent().set_plan(plan);
  node.await([](const MpsReport& report) { return !report.wirings.empty(); }, "a wiring");
  EXPECT_EQ(node.wiring("MIG-1").problem, "not this one");
}

TEST(MpsSupervisor, WaitsForNvidiasDaemon) {
  MpsNode node;
  const TempDir root;
  Offer offer{.name = ResourceName("nvidia.com/gpu"), .terms = {.enforcement = Enforcement::kMps}};
  offer.devices.push_back({.uuid = kGpuA});
  const MpsOptions options{.daemons = MpsDaemons::kNvidia, .nvidia_root = root.path()};
  node.start_agent().set_plan(plan_mps({.offers = {offer}}, options, {}, "/nowhere"));
  node.await([](const MpsReport& report) { return !report.wirings.empty(); }, "a wiring");
  EXPECT_THAT(node.wiring(kGpuA).problem, HasSubstr("control daemon is not ready"));
  std::filesystem::create_directories(root.path("nvidia.com/gpu"));
  std::ofstream{root.path("nvidia.com/gpu/.started")}.flush();
  node.await(
      [](const MpsReport& report) {
        return report.wirings.at(kGpuA).problem.starts_with("there is no ");
      },
      "a missing pipe folder");
  std::filesystem::create_directories(root.path("nvidia.com/gpu/pipe"));
  const UniqueFd daemon = listening_on(root.path("nvidia.com/gpu/pipe/control"));
  node.await([](const MpsReport& report) { return report.wirings.at(kGpuA).problem.empty(); },
             "readiness");
  EXPECT_THAT(*list_directory(root.path()), ElementsAre("nvidia.com"));
}

TEST(MpsSupervisor, StartsNothingWithoutAPlan) {
  MpsNode node;
  node.start_agent();
  node.supervisor().stop();
  EXPECT_FALSE(path_exists(node.directory()));
}

}  // namespace
}  // namespace tranche::tests
