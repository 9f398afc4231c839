// SPDX-License-Identifier: Apache-2.0
#include "core/report/node_condition.h"

#include <gmock/gmock.h>

#include "core/gpu/testing/literals.h"

namespace tranche::core {
namespace {

using testing::EndsWith;
using testing::SizeIs;

TEST(GpusCondition, IsTrueWhileAllGpusAreHealthy) {
  EXPECT_EQ(gpus_condition(a_node(2)),
            (NodeCondition{"True", "AllGpusHealthy", "2 GPUs are healthy"}));
}

TEST(GpusCondition, IsFalseAndNamesTheGpuTheReasonAndTheRemedy) {
  Inventory node = an_inventory({a_gpu(0), a_cut_gpu(1, {k1g10gb})});
  node.gpus[0].health.troubles = {"XID 79: the GPU fell off the bus"};
  node.gpus[1].mig[0].health.troubles = {"XID 94"};
  node.remedies = {{"GPU-0", "XID 79: the GPU fell off the bus", "a reboot of the node"}};
  EXPECT_EQ(gpus_condition(node),
            (NodeCondition{"False", "GpuUnhealthy",
                           "GPU 0 (GPU-0): XID 79: the GPU fell off the bus (cleared by: a reboot "
                           "of the node); GPU 1:0 (MIG-1-0): XID 94"}));
}

TEST(GpusCondition, IsUnknownWhileTheDriverCannotBeRead) {
  Inventory node = a_node(1);
  node.gpus[0].health.troubles = {"driver: gone"};
  node.driver_trouble = "the library is gone";
  EXPECT_EQ(gpus_condition(node),
            (NodeCondition{"Unknown", "DriverUnavailable", "the library is gone"}));
}

TEST(GpusCondition, IsUnknownWhileTheDriverIsReleasedSoThatNobodyRepairsTheNode) {
  Inventory node = a_node(1);
  node.gpus[0].health.troubles = {"released"};
  node.released_at = 1;
  EXPECT_EQ(gpus_condition(node).status, "Unknown");
  EXPECT_EQ(gpus_condition(node).reason, "DriverReleased");
}

TEST(GpusCondition, IsUnknownWithoutAGpu) {
  EXPECT_EQ(gpus_condition(an_inventory({})).status, "Unknown");
}

TEST(GpusCondition, HasAMessageOfLimitedLength) {
  Inventory node = a_node(1);
  for (int i = 0; i < 1000; ++i) node.gpus[0].health.troubles.emplace_back("ä");
  EXPECT_LE(gpus_condition(node).message.size(), 1024U);
  EXPECT_THAT(gpus_condition(node).message, EndsWith("…"));
}

}  // namespace
}  // namespace tranche::core
