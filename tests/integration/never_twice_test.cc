// SPDX-License-Identifier: Apache-2.0
//
// No GPU and no byte is promised to two containers, by the real agent on a simulated
// driver: one story for each way in which it once happened.
#include "integration/never_twice.h"

namespace tranche::tests {
namespace {

TEST_F(NeverTwice, AGpuIsNotGivenWholeWhileItsMemoryIsHeldByANameThatCannotBeEnforced) {
  begin_with(policies(kWholeRow + memory_row("10GiB", "driver")));
  expect_allocatable(kGpu, 2);
  expect_allocatable(kMemory, 28);
  ASSERT_TRUE(admit("a", {{kMemory, 1}}).admitted);
  expect_allocatable(kGpu, 1);
  happens(sim::fail_call(kNoLimits));
  reopen_driver(kGpu);
  expect_allocatable(kMemory, 0);
  expect_capacity(kMemory, 28);
  expect_allocatable(kGpu, 1);
  EXPECT_TRUE(admit("other", {{kGpu, 1}}).admitted);
  EXPECT_FALSE(admit("twice", {{kGpu, 1}}).admitted);
  happens(sim::clear_faults());
}

TEST_F(NeverTwice, ASliceIsNotGivenOfAGpuThatIsHeldWhole) {
  begin_with(mig_strategy("none"));
  expect_allocatable(kGpu, 2);
  ASSERT_TRUE(admit("whole", {{kGpu, 2}}).admitted);
  happens(cut_in_two(0));
  write("config.yaml", mig_strategy("mixed"));
  expect_capacity(kSlice, 2);
  EXPECT_FALSE(admit("slice", {{kSlice, 1}}).admitted);
  expect_allocatable(kSlice, 0);
  remove("whole");
  expect_allocatable(kSlice, 2);
}

TEST_F(NeverTwice, AGpuIsNotGivenWholeWhileASliceOfItIsHeld) {
  begin_with(mig_strategy("mixed"));
  happens(cut_in_two(0));
  expect_allocatable(kSlice, 2);
  ASSERT_TRUE(admit("slice", {{kSlice, 1}}).admitted);
  write("config.yaml", mig_strategy("none"));
  expect_capacity(kGpu, 2);
  expect_allocatable(kGpu, 1);
  EXPECT_TRUE(admit("whole", {{kGpu, 1}}).admitted);
  EXPECT_FALSE(admit("twice", {{kGpu, 1}}).admitted);
}

TEST_F(NeverTwice, ReplicasKeepTheirMemoryWhenThereAreToBeMoreOfThem) {
  begin_with(policies(replica_row(2, "driver")));
  expect_allocatable(kReplicas, 4);
  ASSERT_TRUE(admit("halves", {{kReplicas, 3}}).admitted);
  write("config.yaml", policies(replica_row(8, "driver")));
  expect_capacity(kReplicas, 16);
  // Three halves are held: what is left is one half, in four eighths; and the ids that
  // are held stay listed.
  expect_allocatable(kReplicas, 3 + 4);
  // Also by an agent that knows of it from its file alone.
  kill_agent();
  start();
  expect_allocatable(kReplicas, 3 + 4);
  EXPECT_TRUE(admit("eighths", {{kReplicas, 4}}).admitted);
  EXPECT_FALSE(admit("twice", {{kReplicas, 1}}).admitted);
}

TEST_F(NeverTwice, ANameThatIsOfferedNoMoreGrantsNothing) {
  begin_with(policies(replica_row(2, "none")));
  expect_allocatable(kReplicas, 4);
  write("config.yaml", "version: v1\n");
  expect_allocatable(kGpu, 2);
  // The kubelet may still ask, until it has seen the empty list.
  const standin::AdmissionResult late = admit("late", {{kReplicas, 1}});
  EXPECT_FALSE(late.admitted && late.containers.at(0).devices.contains(kReplicas));
  EXPECT_TRUE(admit("whole", {{kGpu, 2}}).admitted);
}

}  // namespace
}  // namespace tranche::tests
