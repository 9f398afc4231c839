// SPDX-License-Identifier: Apache-2.0
#include "core/plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/gpu/testing/literals.h"

namespace tranche::core {
namespace {

using testing::HasSubstr;

Inventory read_node() {
  Inventory node = a_node(2);
  node.driver = DriverKind::kNvml;
  return node;
}

TEST(Plan, HasAnMpsPlanWhereTheDriverAnswers) {
  const Wanted wanted = plan({.inventory = read_node()}, {});
  EXPECT_EQ(wanted.mps_hold_reason, "");
  EXPECT_TRUE(wanted.mps.has_value());
}

// Its daemons have clients, which would end with them.
TEST(Plan, LeavesMpsDaemonsAsTheyAreWhereTheDriverCannotBeRead) {
  Inventory node = read_node();
  node.driver_trouble = "Unknown Error";
  const Wanted wanted = plan({.inventory = node}, {});
  EXPECT_EQ(wanted.mps_hold_reason, "Unknown Error");
  EXPECT_FALSE(wanted.mps.has_value());
}

TEST(Plan, LeavesMpsDaemonsAsTheyAreWhereOnlyDeviceNodesAreKnown) {
  Inventory node = read_node();
  node.driver = DriverKind::kDeviceNodes;
  Settings settings;
  EXPECT_THAT(plan({.inventory = node}, settings).mps_hold_reason, HasSubstr("device nodes"));
  // Others' daemons cannot be ended by us.
  settings.mps.daemons = MpsDaemons::kOutside;
  EXPECT_EQ(plan({.inventory = node}, settings).mps_hold_reason, "");
}

TEST(Plan, LeavesMpsDaemonsAsTheyAreWhereTheProgramsAreAwayAndSomethingMayUseThem) {
  Observed seen{.inventory = read_node()};
  seen.mps.no_programs = "there is no nvidia-cuda-mps-control";
  Settings settings;
  EXPECT_EQ(plan(seen, settings).mps_hold_reason, "");
  settings.sharing.replications = {{.resource = ResourceName("nvidia.com/gpu"), .replicas = 4}};
  EXPECT_EQ(plan(seen, settings).mps_hold_reason, "there is no nvidia-cuda-mps-control");
}

// Whole GPUs, and their memory under another name that only the driver can enforce.
Settings enforced_memory() {
  Settings settings;
  ResourcePolicy whole{.resource = ResourceName("nvidia.com/gpu")};
  ResourcePolicy memory{.resource = ResourceName("example.com/mem"), .unit = 1ULL << 30};
  memory.terms.form = ShareForm::kMemory;
  memory.terms.demanded = Enforcement::kDriver;
  settings.sharing.policies = {whole, memory};
  return settings;
}

TEST(Plan, ListsWhatCannotBeEnforcedWithUnhealthyShares) {
  const Wanted wanted = plan({.inventory = read_node()}, enforced_memory());
  ASSERT_EQ(wanted.servings.size(), 2U);
  const Serving& memory = wanted.servings[0];
  EXPECT_EQ(memory.offer.name.text, "example.com/mem");
  for (const OfferedDevice& device : memory.offer.devices) {
    EXPECT_THAT(device.health.reason(), HasSubstr("nvmlDeviceSetMemoryLimits_v1"));
  }
  EXPECT_TRUE(wanted.servings[1].offer.devices[0].health.ok());
  EXPECT_THAT(wanted.catalog.notes,
              testing::Contains(HasSubstr("example.com/mem has no usable share: ")));
}

Settings memory_through_mps(std::optional<Enforcement> demanded) {
  Settings settings;
  ResourcePolicy memory{.resource = ResourceName("example.com/mem"), .unit = 1ULL << 30};
  memory.terms.form = ShareForm::kMemory;
  memory.terms.demanded = demanded;
  settings.sharing.policies = {memory};
  return settings;
}

TEST(Plan, SaysWhyADaemonOfOthersCannotBeUsed) {
  for (const MpsDaemons daemons : {MpsDaemons::kOutside, MpsDaemons::kNvidia}) {
    Settings settings = memory_through_mps(Enforcement::kMps);
    settings.mps = {.daemons = daemons, .pipe = "/p"};
    Observed seen{.inventory = read_node()};
    for (const char* uuid : {"GPU-0", "GPU-1"}) {
      seen.mps.report.wirings[uuid] = {.mounts = {{"/p", "/p"}}, .problem = "there is no /p"};
    }
    const Wanted wanted = plan(seen, settings);
    EXPECT_THAT(wanted.catalog.notes,
                testing::ElementsAre("example.com/mem has no usable share: MPS: there is no /p"));
    EXPECT_EQ(wanted.servings.at(0).offer.devices[0].health.reason(), "MPS: there is no /p");
  }
}

TEST(Plan, SaysWhatIsNotKnownOfADaemonOfOthersAndOffersItsShares) {
  Settings settings = memory_through_mps(std::nullopt);
  settings.mps = {.daemons = MpsDaemons::kOutside, .pipe = "/p"};
  Observed seen{.inventory = read_node()};
  for (const char* uuid : {"GPU-0", "GPU-1"}) {
    seen.mps.report.wirings[uuid] = {.mounts = {{"/p", "/p"}}, .caution = "it is not to be seen"};
  }
  const Wanted wanted = plan(seen, settings);
  EXPECT_THAT(wanted.catalog.notes,
              testing::ElementsAre("example.com/mem: MPS: it is not to be seen"));
  EXPECT_TRUE(wanted.servings.at(0).offer.devices[0].health.ok());
}

// Of a daemon of ours that is starting, the log says enough.
TEST(Plan, SaysWhatNoDaemonOfOursCanServe) {
  Observed seen{.inventory = read_node()};
  seen.mps.report.wirings["GPU-0"] = {.mounts = {{"/p", "/p"}}, .problem = "it is starting"};
  seen.mps.report.wirings["GPU-1"] = {.problem = "the folder is too long"};
  EXPECT_THAT(plan(seen, memory_through_mps(Enforcement::kMps)).catalog.notes,
              testing::ElementsAre(
                  "example.com/mem has no usable share of GPU-1: MPS: the folder is too long"));
}

TEST(Plan, NamesTheResourcesOfADaemonOfOursInTrouble) {
  Observed seen{.inventory = read_node()};
  for (const char* uuid : {"GPU-0", "GPU-1"}) {
    seen.mps.report.wirings[uuid] = {.mounts = {{"/p", "/p"}}, .problem = "it is starting"};
  }
  seen.mps.report.daemons = {{.plan = {.name = "gpu-0", .devices = {"GPU-0"}}},
                             {.plan = {.name = "gpu-1", .devices = {"GPU-1"}},
                              .state = MpsState::kTrouble,
                              .last_problem = "it serves nobody"}};
  EXPECT_THAT(plan(seen, memory_through_mps(Enforcement::kMps)).catalog.notes,
              testing::ElementsAre("example.com/mem has no usable share of GPU-1: MPS: the MPS "
                                   "daemon gpu-1 is in trouble: it serves nobody"));
}

TEST(Plan, WarnsOfMemoryThatNothingHolds) {
  EXPECT_THAT(
      plan({.inventory = read_node()}, memory_through_mps(std::nullopt)).catalog.notes,
      testing::ElementsAre(HasSubstr(
          "example.com/mem: nothing holds containers to their share of memory: driver "
          "580.105.08 has no nvmlDeviceSetMemoryLimits_v1; r615 or newer has; and nothing asks for "
          "MPS. Say enforcement: mps")));
  // That is what was meant.
  EXPECT_THAT(
      plan({.inventory = read_node()}, memory_through_mps(Enforcement::kNone)).catalog.notes,
      testing::IsEmpty());
}

// A pod holds 10 GiB by a name that can be enforced no longer.
TEST(Plan, CountsWhatIsHeldByANameThatCannotBeEnforced) {
  Observed seen{.inventory = read_node()};
  const auto tag =
      plan({.inventory = read_node()}, enforced_memory()).servings[0].offer.devices[0].tag;
  Holding held{.resource = "example.com/mem", .holder = {"default", "a", "", "main"}};
  for (int unit = 0; unit < 10; ++unit) {
    held.shares.push_back("GPU-0::" + tag + "-" + std::to_string(unit));
  }
  seen.ledger = std::make_shared<const Ledger>(Ledger{{held}});
  const Wanted wanted = plan(seen, enforced_memory());
  const Serving& whole = wanted.servings[1];
  EXPECT_EQ(whole.shown, (OfferRoom{{{}, 0}, {{}, 1}}));
}

TEST(Plan, CountsWhatIsHeldAlsoWhereEachGpuHasOneName) {
  Observed seen{.inventory = read_node()};
  seen.ledger = std::make_shared<const Ledger>(
      Ledger{{{"old.com/gpu", {"default", "a", "", "main"}, {"GPU-1"}}}});
  const Wanted wanted = plan(seen, {});
  EXPECT_EQ(wanted.refusal, "");
  EXPECT_EQ(wanted.servings.at(0).shown, (OfferRoom{{{}, 1}, {{}, 0}}));
}

TEST(Plan, RefusesSeveralNamesForAGpuWhereNoLedgerCanBeKept) {
  Observed seen{.inventory = read_node(), .no_ledger = "mount the folder"};
  EXPECT_EQ(plan(seen, enforced_memory()).refusal, "mount the folder");
  EXPECT_EQ(plan(seen, memory_through_mps(std::nullopt)).refusal, "");
}

TEST(Plan, RefusesAListThatTheKubeletWouldNotTake) {
  Settings settings;
  settings.sharing.replications = {
      {.resource = ResourceName("nvidia.com/gpu"), .replicas = 500'000}};
  const Wanted wanted = plan({.inventory = read_node()}, settings);
  EXPECT_THAT(wanted.refusal, HasSubstr("nvidia.com/gpu"));
  EXPECT_EQ(wanted.refusal, wanted.oversized);
  EXPECT_THAT(wanted.servings, testing::IsEmpty());
  EXPECT_EQ(wanted.catalog.offers.size(), 1U);
}

TEST(Plan, StopsDaemonsThatNothingUsesAnyMore) {
  Observed seen{.inventory = read_node()};
  seen.ledger = std::make_shared<const Ledger>();
  const Wanted with = plan(seen, memory_through_mps(Enforcement::kMps));
  ASSERT_TRUE(with.mps.has_value());
  EXPECT_EQ(with.mps->daemons.size(), 2U);
  EXPECT_TRUE(with.mps->daemons.at(0).unheld);
  EXPECT_THAT(plan(seen, {}).mps->daemons, testing::IsEmpty());
}

TEST(Plan, TakesADaemonsDevicesForHeldWhereTheLedgerIsNotKnown) {
  const Wanted wanted = plan({.inventory = read_node()}, memory_through_mps(Enforcement::kMps));
  ASSERT_TRUE(wanted.mps.has_value());
  EXPECT_FALSE(wanted.mps->daemons.at(0).unheld);
}

// A container that has a limit may have to be started again.
TEST(Plan, KeepsTheHookThatLimitsMemoryOnceItWasUsed) {
  Observed seen{.inventory = read_node()};
  seen.inventory.limits_memory = true;
  EXPECT_TRUE(plan(seen, enforced_memory()).limits_memory);
  EXPECT_FALSE(plan(seen, {}).limits_memory);
  seen.limits_memory = true;
  EXPECT_TRUE(plan(seen, {}).limits_memory);
}

TEST(Plan, HasSpecificationsOnlyWhereCdiIsUsed) {
  Observed seen{.inventory = read_node()};
  EXPECT_FALSE(plan(seen, {}).cdi.has_value());
  seen.cdi = ObservedCdi{.state = {.devices = {{"gpu", {"GPU-0"}}},
                                   .left_out = {{"gds", "there is no /dev/nvidia-fs0"}},
                                   .problem = "disk full"}};
  const Wanted wanted = plan(seen, {});
  EXPECT_TRUE(wanted.cdi.has_value());
  EXPECT_EQ(wanted.facts.cdi_problem, "disk full; gds: there is no /dev/nvidia-fs0");
  EXPECT_TRUE(wanted.facts.cdi.at("gpu").contains("GPU-0"));
  EXPECT_EQ(wanted.servings.at(0).facts, wanted.facts);
}

TEST(Plan, OffersAGuestOnlyWhatTheHostGranted) {
  Observed seen{.inventory = read_node()};
  seen.guest = ObservedGrant{.problem = "there is no /gpu.env"};
  EXPECT_THAT(plan(seen, {}).inventory.gpus, testing::IsEmpty());
  EXPECT_THAT(plan(seen, {}).inventory.driver_trouble, HasSubstr("there is no /gpu.env"));
  seen.guest->grant = HostGrant{.source = "/gpu.env", .env = GpuEnv{.names = {"GPU-1"}}};
  const Wanted wanted = plan(seen, {});
  ASSERT_EQ(wanted.inventory.gpus.size(), 1U);
  EXPECT_EQ(wanted.inventory.gpus[0].uuid.text, "GPU-1");
  EXPECT_THAT(wanted.catalog.notes,
              testing::Contains(HasSubstr("the last one stands: there is no /gpu.env")));
}

TEST(Plan, HasTheHealthOfWhatWasHandedOff) {
  Observed seen{.inventory = read_node()};
  seen.inventory.gpus[1].health.troubles = {"XID 79"};
  seen.handed_off = {{.id = "a",
                      .resource = "nvidia.com/gpu",
                      .devices = {{.uuid = "GPU-0", .gpu = "GPU-0"},
                                  {.uuid = "GPU-1", .gpu = "GPU-1"},
                                  {.uuid = "GPU-9", .gpu = "GPU-9"}}}};
  const NestedHealth health = plan(seen, {}).nested_health;
  EXPECT_TRUE(health.at({"nvidia.com/gpu", "GPU-0"}).ok());
  EXPECT_THAT(health.at({"nvidia.com/gpu", "GPU-1"}).reason(), HasSubstr("XID 79"));
  EXPECT_FALSE(health.at({"nvidia.com/gpu", "GPU-9"}).ok());
}

TEST(Plan, ChoosesNoUnitsWhileTheDriverCannotBeRead) {
  Settings settings = memory_through_mps(std::nullopt);
  settings.sharing.policies[0].unit.reset();
  Observed seen{.inventory = read_node(), .units = {{"example.com/mem", 64ULL << 20}}};
  seen.inventory.driver_trouble = "Unknown Error";
  EXPECT_EQ(plan(seen, settings).units, seen.units);
}

TEST(Plan, AChannelThatMustBeThereAndIsNotMakesEveryDeviceUnhealthy) {
  Settings settings;
  settings.grant.imex_channels = {0};
  settings.grant.imex_required = true;
  Observed seen{.inventory = read_node()};
  EXPECT_THAT(plan(seen, settings).servings.at(0).offer.devices[0].health.reason(),
              HasSubstr("IMEX channel channel0 does not exist"));
  seen.imex_channels = {0};
  EXPECT_TRUE(plan(seen, settings).servings.at(0).offer.devices[0].health.ok());
}

}  // namespace
}  // namespace tranche::core
