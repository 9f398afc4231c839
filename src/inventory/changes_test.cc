// SPDX-License-Identifier: Apache-2.0
#include "inventory/changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/testing/literals.h"

namespace tranche {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(InventoryChanges, AreNoneBetweenEquals) {
  EXPECT_THAT(changes_between(a_node(3), a_node(3)), IsEmpty());
}

TEST(InventoryChanges, NameWhatCameAndWhatWent) {
  EXPECT_THAT(
      changes_between(an_inventory({a_gpu(0)}), an_inventory({a_gpu(1)})),
      ElementsAre(InventoryChange{true, "device is gone", "GPU-0", "0", "NVIDIA H100 80GB HBM3"},
                  InventoryChange{false, "device found", "GPU-1", "1", "NVIDIA H100 80GB HBM3"}));
}

TEST(InventoryChanges, NameTheReasonOfAnUnhealthyDeviceAndItsEnd) {
  const Inventory well = an_inventory({a_cut_gpu(0, {k1g10gb})});
  Inventory ill = well;
  ill.gpus[0].mig[0].health.troubles = {"XID 94"};
  EXPECT_THAT(changes_between(well, ill), ElementsAre(InventoryChange{true, "device is unhealthy",
                                                                      "MIG-0-0", "0:0", "XID 94"}));
  EXPECT_THAT(changes_between(ill, well),
              ElementsAre(InventoryChange{false, "device is healthy again", "MIG-0-0", "0:0",
                                          "was: XID 94"}));
}

}  // namespace
}  // namespace tranche
