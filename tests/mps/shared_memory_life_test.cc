// SPDX-License-Identifier: Apache-2.0
//
// A daemon that shares memory with its containers, with real mounts.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "fixture.h"
#include "node/mps/shared_memory.h"
#include "node/mps/testing/own_mounts.h"
#include "os/files.h"

namespace tranche::tests {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

class SharedMemoryLife : public testing::Test {
 protected:
  void SetUp() override {
    if (!have_own_mounts()) GTEST_SKIP() << "mounting needs root";
    node_.host_mounts = "/proc/self/mountinfo";
  }
  void TearDown() override {
    node_.end_agent();
    EXPECT_TRUE(unmount_shared_memory(shm_));
  }

  MpsPlan plan(bool unheld = false) const {
    MpsPlan plan = node_.plan({kGpuA});
    plan.daemons[0].shared_memory = true;
    plan.daemons[0].shared_memory_bytes = 1ULL << 20U;
    plan.daemons[0].unheld = unheld;
    return plan;
  }
  std::string of_daemon(const std::string& name) {
    return fmt::format("/proc/{}/root/dev/shm/{}", node_.status(kGpuA).pid, name);
  }

  std::atomic<bool> unheld_ = false;
  MpsNode node_;
  const std::string shm_ = node_.folder(kGpuA) + "/shm";
};

TEST_F(SharedMemoryLife, IsTheDaemonsAndTheContainersAndEndsWithTheDaemon) {
  node_.start_agent().set_plan(plan());
  node_.await_state(kGpuA, MpsState::kReady);
  EXPECT_EQ(node_.wiring(kGpuA).problem, "");
  EXPECT_THAT(node_.wiring(kGpuA).mounts, Contains(MpsWiring::Mount{"/dev/shm", shm_, false}));
  std::ofstream(shm_ + "/of-a-container") << "x";
  EXPECT_TRUE(path_exists(of_daemon("of-a-container")));
  node_.supervisor().stop();
  EXPECT_THAT(*list_directory(node_.directory()), IsEmpty());
}

TEST_F(SharedMemoryLife, IsKeptWithADaemonThatIsAdopted) {
  node_.start_agent().set_plan(plan());
  node_.await_state(kGpuA, MpsState::kReady);
  const int daemon = node_.status(kGpuA).pid;
  std::ofstream(shm_ + "/of-a-container") << "x";
  node_.end_agent();
  node_.start_agent().set_plan(plan());
  node_.await_state(kGpuA, MpsState::kReady);
  EXPECT_EQ(node_.status(kGpuA).pid, daemon);
  EXPECT_TRUE(path_exists(shm_ + "/of-a-container"));
}

// Like an earlier agent: a folder of the host.
TEST_F(SharedMemoryLife, OfADaemonWithAnotherFolderIsReplacedWithIt) {
  node_.start_agent().set_plan(plan());
  node_.await_state(kGpuA, MpsState::kReady);
  const int daemon = node_.status(kGpuA).pid;
  node_.end_agent();
  ASSERT_TRUE(unmount_shared_memory(shm_));
  node_.start_agent().set_plan(plan());
  node_.await_state(kGpuA, MpsState::kReady);
  EXPECT_NE(node_.status(kGpuA).pid, daemon);
  std::ofstream(shm_ + "/of-a-container") << "x";
  EXPECT_TRUE(path_exists(of_daemon("of-a-container")));
}

TEST_F(SharedMemoryLife, ThatIsUnmountedIsForNobodyAndEndsNothing) {
  node_.start_agent().set_plan(plan());
  node_.await_state(kGpuA, MpsState::kReady);
  ASSERT_TRUE(unmount_shared_memory(shm_));
  node_.await(
      [](const MpsReport& report) {
        return report.wirings.at(kGpuA).problem.find("no tmpfs is mounted") != std::string::npos;
      },
      "a problem");
  EXPECT_EQ(node_.status(kGpuA).restarts, 0U);
  EXPECT_EQ(node_.status(kGpuA).state, MpsState::kReady);
}

TEST_F(SharedMemoryLife, ThatCannotBeMountedKeepsContainersAway) {
  std::thread([&] {
    ASSERT_TRUE(give_up_mounting());
    node_.start_agent().set_plan(plan());
    node_.await_state(kGpuA, MpsState::kTrouble);
  }).join();
  EXPECT_THAT(node_.wiring(kGpuA).problem, HasSubstr("needs CAP_SYS_ADMIN"));
  EXPECT_THAT(node_.processes(kGpuA), IsEmpty());
}

// Also of what was changed just before that: the supervisor asks for another plan when it is
// old enough to be the last holder's.
TEST_F(SharedMemoryLife, IsEmptiedWhenNobodyHoldsTheGpuAnyMore) {
  node_.start_agent().on_report([this] { node_.supervisor().set_plan(plan(unheld_)); });
  node_.supervisor().set_plan(plan());
  node_.await_state(kGpuA, MpsState::kReady);
  std::ofstream(shm_ + "/of-a-container") << "x";
  unheld_ = true;
  node_.supervisor().set_plan(plan(true));
  await_condition([&] { return !path_exists(shm_ + "/of-a-container"); }, "an empty folder");
  EXPECT_EQ(node_.status(kGpuA).restarts, 0U);
}

}  // namespace
}  // namespace tranche::tests
