// SPDX-License-Identifier: Apache-2.0
#include "demo/world.h"

#include <gtest/gtest.h>

namespace tranche::demo {
namespace {

TEST(DemoWorld, HasEightGpusInFourPairs) {
  const auto world = demo_world();
  ASSERT_TRUE(world) << world.error().message;
  ASSERT_EQ(world->gpus.size(), 8U);
  for (std::size_t a = 0; a < 8; ++a) {
    for (std::size_t b = 0; b < 8; ++b) {
      const bool are_partners = a != b && a / 2 == b / 2;
      EXPECT_EQ(links_between(*world, a, b), are_partners ? 12U : 0U) << a << " and " << b;
    }
  }
}

TEST(DemoWorld, HasTwoSlicesOnItsLastGpu) {
  const auto world = demo_world();
  ASSERT_TRUE(world);
  EXPECT_EQ(world->gpus[7].mig.instances.size(), 2U);
  EXPECT_TRUE(world->gpus[6].mig.instances.empty());
}

TEST(DemoWorld, KnowsGpusByTheirUuids) {
  const auto world = demo_world();
  ASSERT_TRUE(world);
  EXPECT_EQ(place_of(*world, world->gpus[5].uuid.text), 5U);
  EXPECT_EQ(place_of(*world, "GPU-none"), std::nullopt);
}

}  // namespace
}  // namespace tranche::demo
