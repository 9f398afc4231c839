// SPDX-License-Identifier: Apache-2.0
#include "node/driver/nvml/compute_modes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "os/testing/temp_dir.h"
#include "testbed/node/simulated_node.h"
#include "testbed/worlds/builtin.h"

namespace tranche::node::nvml {

namespace sim = testbed::sim;
namespace {

using testing::HasSubstr;

class ComputeModesOnAWorld : public testing::Test {
 protected:
  void start(const char* name, std::chrono::milliseconds patience = std::chrono::seconds(30)) {
    world_ = *sim::builtin_world(name);
    const auto made = sim::SimulatedNode::create(dir_.path("root"), world_, {.plain_files = true});
    ASSERT_TRUE(made) << made.error().message;
    node_ = *made;
    modes_.emplace(DriverOptions{.container_root = node_->root(), .call_patience = patience});
  }
  void apply(const sim::Change& change) {
    const Status applied = node_->apply(change);
    ASSERT_TRUE(applied) << applied.error().message;
  }
  GpuUuid gpu(unsigned index) const { return world_.gpus.at(index).uuid; }
  ComputeMode mode(unsigned index) {
    const Result<ComputeMode> read = modes_->read(gpu(index));
    EXPECT_TRUE(read) << (read ? "" : read.error().message);
    return read ? *read : ComputeMode::kOther;
  }

  TempDir dir_;
  sim::World world_;
  std::optional<sim::SimulatedNode> node_;
  std::optional<ComputeModes> modes_;
};

TEST_F(ComputeModesOnAWorld, SetsTheModeOfOneGpuAndOfNoOther) {
  start("t4-quad");
  EXPECT_EQ(mode(1), ComputeMode::kDefault);
  const Status set = modes_->set(gpu(1), ComputeMode::kExclusiveProcess);
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(mode(1), ComputeMode::kExclusiveProcess);
  EXPECT_EQ(mode(0), ComputeMode::kDefault);
  ASSERT_TRUE(modes_->set(gpu(1), ComputeMode::kDefault));
  EXPECT_EQ(mode(1), ComputeMode::kDefault);
}

TEST_F(ComputeModesOnAWorld, SaysThatAGpuIsNotThere) {
  start("t4-single");
  const Status set = modes_->set(GpuUuid("GPU-none"), ComputeMode::kExclusiveProcess);
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(set.error().message,
              HasSubstr("setting the compute mode of GPU-none to exclusive-process: nvmlDeviceGet"
                        "HandleByUUID: "));
}

TEST_F(ComputeModesOnAWorld, SaysThatItTakesRoot) {
  start("t4-single");
  apply(sim::fail_call({.call = "nvmlDeviceSetComputeMode", .code = abi::kNoPermission}));
  const Status set = modes_->set(gpu(0), ComputeMode::kExclusiveProcess);
  ASSERT_FALSE(set);
  EXPECT_THAT(set.error().message, HasSubstr("the agent must be root on the node"));
}

TEST_F(ComputeModesOnAWorld, AGpuThatIsCutWithMigHasNone) {
  start("hgx-h200-mig");
  const Result<ComputeMode> read = modes_->read(gpu(0));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kUnavailable);
}

TEST_F(ComputeModesOnAWorld, ACallThatHangsIsLeftBehindAndNotMadeAgain) {
  start("t4-single", std::chrono::milliseconds(100));
  apply(sim::block_call("nvmlDeviceGetComputeMode"));
  EXPECT_THAT(modes_->read(gpu(0)).error().message, HasSubstr("the driver does not return"));
  EXPECT_THAT(modes_->read(gpu(0)).error().message, HasSubstr("an earlier driver call"));
  apply(sim::clear_faults());
}

TEST_F(ComputeModesOnAWorld, SaysThatThereIsNoLibrary) {
  ComputeModes modes({.container_root = "/nowhere"});
  EXPECT_THAT(modes.read(GpuUuid("GPU-0")).error().message, HasSubstr("libnvidia-ml.so.1"));
}

}  // namespace
}  // namespace tranche::node::nvml
