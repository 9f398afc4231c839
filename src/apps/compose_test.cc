// SPDX-License-Identifier: Apache-2.0
#include "apps/compose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/testing/literals.h"

namespace tranche {
namespace {

using testing::HasSubstr;

Inventory read_node() {
  Inventory node = a_node(2);
  node.driver = DriverKind::kNvml;
  return node;
}

TEST(Composition, KnowsWhatIsNeededOfMpsWhereTheDriverAnswers) {
  EXPECT_EQ(compose(read_node(), {}, {}).leaves_mps_alone, "");
}

// Its daemons have clients, which would end with them.
TEST(Composition, LeavesMpsAloneWhereTheDriverCannotBeRead) {
  Inventory node = read_node();
  node.driver_trouble = "Unknown Error";
  EXPECT_EQ(compose(node, {}, {}).leaves_mps_alone, "Unknown Error");
}

TEST(Composition, LeavesMpsAloneWhereOnlyDeviceNodesAreKnown) {
  Inventory node = read_node();
  node.driver = DriverKind::kDeviceNodes;
  Settings settings;
  EXPECT_THAT(compose(node, settings, {}).leaves_mps_alone, HasSubstr("device nodes"));
  // Others' daemons cannot be ended by us.
  settings.mps.daemons = MpsDaemons::kOutside;
  EXPECT_EQ(compose(node, settings, {}).leaves_mps_alone, "");
}

TEST(Composition, LeavesMpsAloneWhereItsProgramsAreAwayAndSomethingMayUseThem) {
  Circumstances circumstances;
  circumstances.enforcers.no_mps = "there is no nvidia-cuda-mps-control";
  Settings settings;
  EXPECT_EQ(compose(read_node(), settings, circumstances).leaves_mps_alone, "");
  settings.sharing.replications = {{.resource = ResourceName("nvidia.com/gpu"), .replicas = 4}};
  EXPECT_EQ(compose(read_node(), settings, circumstances).leaves_mps_alone,
            "there is no nvidia-cuda-mps-control");
}

TEST(Devices, AreTheSameHoweverTheyAre) {
  const Inventory before = read_node();
  Inventory after = before;
  after.gpus[0].health = {{"xid 79"}};
  EXPECT_TRUE(has_same_devices(before, after));
  after.gpus[0].index = 7;
  EXPECT_FALSE(has_same_devices(before, after)) << "rows by index choose others now";
  after.gpus[0].index = before.gpus[0].index;
  after.gpus.pop_back();
  EXPECT_FALSE(has_same_devices(before, after));
}

}  // namespace
}  // namespace tranche
