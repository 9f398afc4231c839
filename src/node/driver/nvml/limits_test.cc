// SPDX-License-Identifier: Apache-2.0
//
// Whether the driver limits memory, if its first answer is missing.
#include <gmock/gmock.h>

#include "node/driver/nvml/testing/source_on_a_world.h"

namespace tranche::node::nvml {
namespace {

using testing::HasSubstr;

class LimitsOnAWorld : public NvmlSourceOnAWorld {
 protected:
  void start_r615(const char* name) {
    patience_ = std::chrono::seconds(1);
    sim::World world = *sim::builtin_world(name);
    world.driver.version = world.driver.module_version = "615.10.01";
    start(world);
  }
  void open_source() { ASSERT_TRUE(source_->open()); }
  // Reads until it is known, as the agent does every few seconds.
  bool is_known_in_the_end() {
    for (int look = 0; look < 200; ++look) {
      if (read().limits_unknown.empty()) return true;
    }
    return false;
  }
};

TEST_F(LimitsOnAWorld, AreAskedForAgainAfterOneCallThatDoesNotReturn) {
  start_r615("t4-single");
  apply(sim::block_call("nvmlDeviceGetMemoryLimits_v1", sim::GpuRef(0U), 1));
  open_source();
  const DriverReading first = read();
  EXPECT_FALSE(first.limits_memory);
  EXPECT_EQ(first.limits_unknown, "nvmlDeviceGetMemoryLimits_v1 did not return");
  EXPECT_THAT(logged_, HasSubstr("unknown whether the driver can limit memory"));
  EXPECT_TRUE(is_known_in_the_end());
  EXPECT_TRUE(read().limits_memory);
  apply(sim::clear_faults());
}

TEST_F(LimitsOnAWorld, AreKnownFromAnotherGpuWhereOneDoesNotReturn) {
  start_r615("hgx-h200");
  apply(sim::block_call("nvmlDeviceGetMemoryLimits_v1", sim::GpuRef(0U)));
  open_source();
  EXPECT_TRUE(is_known_in_the_end());
  EXPECT_TRUE(read().limits_memory);
  apply(sim::clear_faults());
}

TEST_F(LimitsOnAWorld, StayAsTheyWereKnownWhileACallDoesNotReturn) {
  start_r615("t4-single");
  open_source();
  EXPECT_TRUE(read().limits_memory);
  apply(sim::block_call("nvmlDeviceGetMemoryLimits_v1"));
  open_source();
  const DriverReading reading = read();
  EXPECT_TRUE(reading.limits_memory);
  EXPECT_THAT(reading.limits_unknown, HasSubstr("did not return"));
  apply(sim::clear_faults());
  EXPECT_TRUE(is_known_in_the_end());
}

TEST_F(LimitsOnAWorld, StayAsTheyWereKnownWhileACallFails) {
  start_r615("t4-single");
  open_source();
  EXPECT_TRUE(read().limits_memory);
  apply(sim::fail_call({.call = "nvmlDeviceGetMemoryLimits", .code = abi::kUnknown}));
  open_source();
  EXPECT_TRUE(read().limits_memory);
  EXPECT_THAT(read().limits_unknown, HasSubstr("nvmlDeviceGetMemoryLimits_v1: Unknown Error"));
  apply(sim::all_of({sim::clear_faults(), sim::fail_call({.call = "nvmlDeviceGetMemoryLimits",
                                                          .code = abi::kNotSupported})}));
  EXPECT_TRUE(is_known_in_the_end());
  EXPECT_FALSE(read().limits_memory) << "that is an answer";
}

// Each abandoned call keeps a thread.
TEST_F(LimitsOnAWorld, AreNotAskedForWithoutEndWhereNoCallReturns) {
  start_r615("t4-single");
  patience_ = std::chrono::milliseconds(100);
  source_.emplace(DriverOptions{.container_root = node_->root(), .call_patience = patience_},
                  KernelFiles(node_->root()), log_);
  apply(sim::block_call("nvmlDeviceGetMemoryLimits_v1"));
  open_source();
  const int before = calls_left_behind();
  for (int look = 0; look < 100; ++look) read();
  EXPECT_LE(calls_left_behind() - before, 4);
  apply(sim::clear_faults());
  EXPECT_TRUE(is_known_in_the_end());
}

}  // namespace
}  // namespace tranche::node::nvml
