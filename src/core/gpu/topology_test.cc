// SPDX-License-Identifier: Apache-2.0
#include "core/gpu/topology.h"

#include <gtest/gtest.h>

namespace tranche::core {
namespace {

TEST(Topology, HoldsALinkBothWays) {
  Topology topology({GpuUuid("GPU-a"), GpuUuid("GPU-b"), GpuUuid("GPU-c")});
  topology.set(0, 2, {PcieDistance::kSameNode, 4});
  EXPECT_EQ(topology.between(0, 2), (GpuLink{PcieDistance::kSameNode, 4}));
  EXPECT_EQ(topology.between(2, 0), topology.between(0, 2));
  EXPECT_EQ(topology.between(0, 1), GpuLink{});
}

TEST(Topology, KnowsWhereAGpuStands) {
  const Topology topology({GpuUuid("GPU-a"), GpuUuid("GPU-b")});
  EXPECT_EQ(topology.position(GpuUuid("GPU-b")), 1U);
  EXPECT_EQ(topology.position(GpuUuid("GPU-x")), Topology::kNowhere);
}

}  // namespace
}  // namespace tranche::core
