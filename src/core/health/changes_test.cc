// SPDX-License-Identifier: Apache-2.0
#include "core/health/changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/gpu/testing/literals.h"

namespace tranche::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(InventoryChanges, AreNoneBetweenEquals) {
  EXPECT_THAT(changes_between(a_node(3), a_node(3)), IsEmpty());
}

TEST(InventoryChanges, NameWhatCameAndWhatWent) {
  EXPECT_THAT(changes_between(an_inventory({a_gpu(0)}), an_inventory({a_gpu(1)})),
              ElementsAre(InventoryChange{true, DeviceChange::kGone, "GPU-0", "0",
                                          "NVIDIA H100 80GB HBM3", "0000:10:00.0"},
                          InventoryChange{false, DeviceChange::kFound, "GPU-1", "1",
                                          "NVIDIA H100 80GB HBM3", "0000:11:00.0"}));
}

TEST(InventoryChanges, NameTheReasonOfAnUnhealthyDeviceAndItsEnd) {
  const Inventory well = an_inventory({a_cut_gpu(0, {k1g10gb})});
  Inventory ill = well;
  ill.gpus[0].mig[0].health.troubles = {"XID 94"};
  EXPECT_THAT(changes_between(well, ill),
              ElementsAre(InventoryChange{true, DeviceChange::kUnhealthy, "MIG-0-0", "0:0",
                                          "XID 94", "0000:10:00.0"}));
  EXPECT_THAT(changes_between(ill, well),
              ElementsAre(InventoryChange{false, DeviceChange::kHealthyAgain, "MIG-0-0", "0:0",
                                          "was: XID 94", "0000:10:00.0"}));
}

TEST(InventoryChanges, SayWhereTheDeviceIsAndWhatClearsTheFault) {
  Inventory well = an_inventory({a_gpu(0)});
  well.gpus[0].pci = PciAddress{.bus = 0x5e};
  Inventory ill = well;
  ill.gpus[0].health.troubles = {"XID 54", "driver: gone"};
  ill.remedies = {{"GPU-0", "XID 54", "a reboot of the node"},
                  {"GPU-0", "driver: gone", "it is back"}};
  const auto worse = changes_between(well, ill);
  ASSERT_THAT(worse, SizeIs(1));
  EXPECT_EQ(worse[0].pci, "0000:5e:00.0");
  EXPECT_EQ(worse[0].cleared_by, "a reboot of the node; it is back");
  const auto better = changes_between(ill, well, {{"GPU-0", "XID 54", "the node was rebooted"}});
  ASSERT_THAT(better, SizeIs(1));
  EXPECT_EQ(better[0].pci, "0000:5e:00.0");
  EXPECT_EQ(better[0].because, "the node was rebooted; it is back");
}

}  // namespace
}  // namespace tranche::core
