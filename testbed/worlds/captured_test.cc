// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "testbed/world/model.h"
#include "testbed/worlds/builtin.h"

namespace tranche::testbed::sim {
namespace {

// The table of models was put together from documents. Here is one real GPU to
// hold it to; what a virtual machine without the switches changes is set aside.
TEST(CapturedH200, IsWhatTheModelTableSaysOfAnH200) {
  const auto world = builtin_world("captured-h200");
  ASSERT_TRUE(world) << world.error().message;
  ASSERT_EQ(world->gpus.size(), 1U);
  const Model real = world->gpus[0].model;
  auto known = find_model("h200-sxm");
  ASSERT_TRUE(known);
  known->fabric = false;
  known->nvlinks = 0;
  known->nvlink_version = 0;
  known->nvlink_mbps = 0;
  known->vbios = real.vbios;  // differs from batch to batch
  for (const GpuInstanceProfile& profile : real.mig.profiles) {
    const GpuInstanceProfile* same = find_profile(known->mig, profile.name);
    ASSERT_TRUE(same != nullptr) << profile.name;
    EXPECT_TRUE(*same == profile) << profile.name;
  }
  known->mig.profiles = real.mig.profiles;  // the order is the table's own
  EXPECT_TRUE(real == *known);
}

}  // namespace
}  // namespace tranche::testbed::sim
