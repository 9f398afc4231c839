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

// Whole GPUs, and their memory under another name that only the driver can enforce.
Settings enforced_memory() {
  Settings settings;
  ResourcePolicy whole{.resource = ResourceName("nvidia.com/gpu")};
  ResourcePolicy memory{.resource = ResourceName("example.com/mem"), .unit = 1ULL << 30};
  memory.terms.form = ShareForm::kMemory;
  memory.terms.demanded = Rung::kDriver;
  settings.sharing.policies = {whole, memory};
  return settings;
}

TEST(Composition, ListsWhatCannotBeEnforcedWithUnhealthyShares) {
  const Composition composition = compose(read_node(), enforced_memory(), {});
  ASSERT_EQ(composition.servings.size(), 2U);
  const Serving& memory = composition.servings[0];
  EXPECT_EQ(memory.offer.name.text, "example.com/mem");
  for (const OfferedDevice& device : memory.offer.devices) {
    EXPECT_THAT(device.health.reason(), HasSubstr("nvmlDeviceSetMemoryLimits_v1"));
  }
  EXPECT_TRUE(composition.servings[1].offer.devices[0].health.ok());
  EXPECT_THAT(composition.catalog.notes,
              testing::Contains(HasSubstr("example.com/mem has no usable share: ")));
}

// A pod holds 10 GiB by a name that can be enforced no longer.
TEST(Composition, CountsWhatIsHeldByANameThatCannotBeEnforced) {
  Circumstances circumstances;
  const auto tag = compose(read_node(), enforced_memory(), {}).servings[0].offer.devices[0].tag;
  Holding held{.resource = "example.com/mem", .holder = {"default", "a", "", "main"}};
  for (int unit = 0; unit < 10; ++unit) {
    held.shares.push_back("GPU-0::" + tag + "-" + std::to_string(unit));
  }
  circumstances.ledger = std::make_shared<const Ledger>(Ledger{{held}});
  const Composition composition = compose(read_node(), enforced_memory(), circumstances);
  const Serving& whole = composition.servings[1];
  EXPECT_EQ(whole.shown, (OfferRoom{{{}, 0}, {{}, 1}}));
}

TEST(Composition, CountsWhatIsHeldAlsoWhereEachGpuHasOneName) {
  Circumstances circumstances;
  circumstances.ledger = std::make_shared<const Ledger>(
      Ledger{{{"old.com/gpu", {"default", "a", "", "main"}, {"GPU-1"}}}});
  const Composition composition = compose(read_node(), {}, circumstances);
  EXPECT_FALSE(composition.needs_ledger);
  EXPECT_EQ(composition.servings.at(0).shown, (OfferRoom{{{}, 1}, {{}, 0}}));
}

}  // namespace
}  // namespace tranche
