// SPDX-License-Identifier: Apache-2.0
#include "programs/device_plugin/mps_compute_modes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "os/testing/temp_dir.h"
#include "testbed/node/simulated_node.h"
#include "testbed/worlds/builtin.h"

namespace tranche::programs {
namespace sim = testbed::sim;
namespace {

using testing::HasSubstr;

constexpr std::chrono::seconds kPatience{60};

class MpsComputeModesOnAWorld : public testing::Test {
 protected:
  void SetUp() override {
    const sim::World world = *sim::builtin_world("t4-quad");
    const auto made = sim::SimulatedNode::create(dir_.path("root"), world, {.plain_files = true});
    ASSERT_TRUE(made) << made.error().message;
    node_ = *made;
    gpu_ = world.gpus.at(0).uuid.text;
  }
  // Longer than any machine is slow, unless the driver is to hang.
  void begin(std::chrono::milliseconds patience = kPatience) {
    modes_.emplace(DriverOptions{.container_root = node_->root(), .call_patience = patience},
                   [this] { return released_.load(); });
  }
  template <typename Holds>
  static void await(const Holds& holds) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!holds()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      std::this_thread::yield();
    }
  }

  TempDir dir_;
  std::optional<sim::SimulatedNode> node_;
  std::string gpu_;
  std::atomic<bool> released_ = false;
  std::optional<MpsComputeModes> modes_;
};

TEST_F(MpsComputeModesOnAWorld, AreNeitherReadNorSetWhileTheDriverIsReleased) {
  begin();
  const ComputeModeDriver driver = modes_->driver();
  ASSERT_TRUE(driver.set(gpu_, true));
  released_ = true;
  EXPECT_THAT(driver.is_exclusive(gpu_).error().message, HasSubstr("run 'resume'"));
  EXPECT_THAT(driver.set(gpu_, false).error().message, HasSubstr("run 'resume'"));
  EXPECT_EQ(modes_->still_open(), "");
  released_ = false;
  const Result<bool> exclusive = driver.is_exclusive(gpu_);
  ASSERT_TRUE(exclusive) << exclusive.error().message;
  EXPECT_TRUE(*exclusive);
}

// Both while it is waited for and when it was left behind.
TEST_F(MpsComputeModesOnAWorld, KeepTheDriverOpenAsLongAsACallDoesNotReturn) {
  begin(std::chrono::milliseconds(100));
  ASSERT_TRUE(node_->apply(sim::block_call("nvmlDeviceGetComputeMode")));
  std::atomic<bool> is_given_up = false;
  std::thread call([&] {
    EXPECT_FALSE(modes_->driver().is_exclusive(gpu_));
    is_given_up = true;
  });
  await([&] { return !modes_->still_open().empty(); });
  released_ = true;
  await([&] { return is_given_up.load(); });
  call.join();
  EXPECT_THAT(modes_->still_open(), HasSubstr("the compute mode for MPS"));
  ASSERT_TRUE(node_->apply(sim::clear_faults()));
  await([&] { return modes_->still_open().empty(); });
}

}  // namespace
}  // namespace tranche::programs
