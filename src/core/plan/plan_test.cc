// SPDX-License-Identifier: Apache-2.0
#include "core/plan/plan.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

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

// Stopping a daemon would end its clients.
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
  // We cannot end external daemons.
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

// The log reports that our daemon is starting; no note is needed.
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
                              .last_problem = "it serves no one"}};
  EXPECT_THAT(plan(seen, memory_through_mps(Enforcement::kMps)).catalog.notes,
              testing::ElementsAre("example.com/mem has no usable share of GPU-1: MPS: the MPS "
                                   "daemon gpu-1 is in trouble: it serves no one"));
}

TEST(Plan, WarnsOfMemoryThatNothingHolds) {
  EXPECT_THAT(
      plan({.inventory = read_node()}, memory_through_mps(std::nullopt)).catalog.notes,
      testing::ElementsAre(HasSubstr(
          "example.com/mem: nothing limits containers to their share of memory: driver "
          "580.105.08 has no nvmlDeviceSetMemoryLimits_v1; r615 or newer has; and nothing asks for "
          "MPS. Set enforcement: mps")));
  // The policy demands no enforcement.
  EXPECT_THAT(
      plan({.inventory = read_node()}, memory_through_mps(Enforcement::kNone)).catalog.notes,
      testing::IsEmpty());
}

// A pod holds 10 GiB of a resource that can no longer be enforced.
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
              testing::Contains(HasSubstr("keeping the last one: there is no /gpu.env")));
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

// Two replicas of each GPU through MPS.
Settings replicas_through_mps(MpsDaemons daemons) {
  Settings settings;
  ResourcePolicy slices{.resource = ResourceName("example.com/slice"), .replicas = 2};
  slices.terms.form = ShareForm::kReplicas;
  slices.terms.demanded = Enforcement::kMps;
  settings.sharing.policies = {slices};
  settings.mps = {.daemons = daemons, .pipe = "/p"};
  return settings;
}

Observed with_daemons() {
  Observed seen{.inventory = read_node()};
  for (const char* uuid : {"GPU-0", "GPU-1"}) {
    seen.mps.report.wirings[uuid] = {.mounts = {{"/p", "/p"}}};
  }
  return seen;
}

std::string reason_of(const Wanted& wanted) {
  return wanted.servings.at(0).offer.devices.at(0).health.reason();
}

TEST(Plan, RefusesDistinctGpusWithAnMpsDaemonPerGpu) {
  Settings settings = replicas_through_mps(MpsDaemons::kPerGpu);
  settings.sharing.policies[0].terms.distinct_gpus = true;
  const std::string why =
      "distinctGpus needs each share on a different GPU, but with one MPS daemon per GPU all "
      "shares of a container come from one GPU; remove distinctGpus or set "
      "--mps-daemons=per-node";
  const Wanted refused = plan(with_daemons(), settings);
  EXPECT_EQ(reason_of(refused), why);
  EXPECT_THAT(refused.catalog.notes,
              testing::ElementsAre("example.com/slice has no usable share: " + why));
  settings.mps.daemons = MpsDaemons::kPerNode;
  EXPECT_EQ(reason_of(plan(with_daemons(), settings)), "");
}

TEST(Plan, TakesAContainersSharesFromOneDeviceWhereTheTermsNeedIt) {
  const auto one_device = [](const Settings& settings) {
    return plan(with_daemons(), settings).servings.at(0).offer.terms.one_device;
  };
  EXPECT_TRUE(one_device(memory_through_mps(Enforcement::kNone)));
  EXPECT_TRUE(one_device(replicas_through_mps(MpsDaemons::kPerGpu)));
  EXPECT_FALSE(one_device(replicas_through_mps(MpsDaemons::kPerNode)));
  EXPECT_FALSE(one_device(replicas_through_mps(MpsDaemons::kOutside)));
  Settings settings = replicas_through_mps(MpsDaemons::kPerGpu);
  settings.sharing.policies[0].terms.demanded = Enforcement::kNone;
  EXPECT_FALSE(one_device(settings));
  settings.sharing.policies[0].terms.dialect = Dialect::kGpushare;
  EXPECT_TRUE(one_device(settings));
  Settings whole = replicas_through_mps(MpsDaemons::kPerGpu);
  whole.sharing.policies[0].terms.form = ShareForm::kWhole;
  EXPECT_FALSE(one_device(whole));
}

TEST(Plan, HasNoHealthyShareBeforeItsMpsDaemonIsThere) {
  const Wanted wanted = plan({.inventory = read_node()}, memory_through_mps(Enforcement::kMps));
  EXPECT_EQ(reason_of(wanted), "MPS: its daemon is not there yet");
  EXPECT_THAT(wanted.catalog.notes, testing::IsEmpty());
  EXPECT_EQ(reason_of(plan(with_daemons(), memory_through_mps(Enforcement::kMps))), "");
}

TEST(Plan, KnowsWhereWeSeeTheFolderWithTheDriversFiles) {
  Settings settings;
  EXPECT_EQ(plan({.inventory = read_node()}, settings).servings.at(0).driver_folder, "");
  settings.host_root = "/host";
  settings.grant.driver_mount = DriverMount{.host_path = "/home/kubernetes/bin/nvidia",
                                            .container_path = "/usr/local/nvidia"};
  EXPECT_EQ(plan({.inventory = read_node()}, settings).servings.at(0).driver_folder,
            "/host/home/kubernetes/bin/nvidia");
}

TEST(Plan, RefusesToShowTheLargestBlockWhereNoLedgerCanBeKept) {
  Settings settings = memory_through_mps(Enforcement::kNone);
  settings.sharing.policies[0].terms.shown = ShownSize::kLargestBlock;
  Observed seen{.inventory = read_node()};
  EXPECT_EQ(plan(seen, settings).refusal, "");
  seen.no_ledger = "mount the folder";
  EXPECT_EQ(plan(seen, settings).refusal, "mount the folder");
}

TEST(Plan, CannotHaveTheDriverLimitMemoryWithAToolkitWithoutTheHook) {
  Settings settings = enforced_memory();
  settings.grant.list = {.cdi_cri = true};
  Observed seen{.inventory = read_node()};
  seen.inventory.limits_memory = true;
  seen.cdi = ObservedCdi{};
  seen.cdi->files.toolkit = {.version = ToolkitVersion{1, 19, 0}, .is_exact = true};
  EXPECT_THAT(reason_of(plan(seen, settings)),
              HasSubstr("NVIDIA's container toolkit is 1.19.0 here"));
  seen.cdi->files.toolkit.version = ToolkitVersion{1, 20, 1};
  EXPECT_EQ(reason_of(plan(seen, settings)), "");
  // NVIDIA's runtime, which serves the variable, has its own hooks.
  settings.grant.list.envvar = true;
  seen.cdi->files.toolkit.version = ToolkitVersion{1, 19, 0};
  EXPECT_EQ(reason_of(plan(seen, settings)), "");
}

TEST(Plan, CannotReserveAGpuForAnExternalMpsDaemon) {
  Settings settings = memory_through_mps(Enforcement::kMpsExclusive);
  EXPECT_EQ(reason_of(plan(with_daemons(), settings)), "");
  settings.mps = {.daemons = MpsDaemons::kOutside, .pipe = "/p"};
  EXPECT_EQ(reason_of(plan(with_daemons(), settings)),
            "enforcement mps-exclusive is demanded of example.com/mem, and this node does not "
            "support it: the MPS daemons are external; their owner sets the compute mode");
}

TEST(Plan, CannotUseMpsWithoutItsProgramsOrTheDriversLibrary) {
  Observed seen = with_daemons();
  seen.inventory.driver = DriverKind::kDeviceNodes;
  const Settings settings = memory_through_mps(Enforcement::kMps);
  EXPECT_THAT(reason_of(plan(seen, settings)),
              HasSubstr("the driver's library is missing, and device nodes do not show memory"));
  seen.mps.no_programs = "there is no nvidia-cuda-mps-control";
  EXPECT_THAT(reason_of(plan(seen, settings)), HasSubstr("there is no nvidia-cuda-mps-control"));
}

TEST(Plan, WarnsOfMoreSharesThanMpsTakesClients) {
  Settings settings = replicas_through_mps(MpsDaemons::kPerGpu);
  settings.sharing.policies[0].replicas = 49;
  EXPECT_THAT(plan(with_daemons(), settings).catalog.notes,
              testing::Contains(HasSubstr("GPU-0 is offered 49 times, and MPS takes 48 client")));
  settings.sharing.policies[0].replicas = 48;
  EXPECT_THAT(plan(with_daemons(), settings).catalog.notes, testing::IsEmpty());
}

// One GiB of GPU-0 for each of `count` containers.
std::shared_ptr<const Ledger> held_by(int count, const Settings& settings) {
  const std::string tag = plan(with_daemons(), settings).servings.at(0).offer.devices.at(0).tag;
  Ledger ledger;
  for (int i = 0; i < count; ++i) {
    ledger.holdings.push_back({"example.com/mem",
                               {"default", fmt::format("pod-{:02}", i), "", "main"},
                               {fmt::format("GPU-0::{}-{}", tag, i)}});
  }
  return std::make_shared<const Ledger>(std::move(ledger));
}

TEST(Plan, WarnsOfAsManyContainersAsMpsTakesClients) {
  const Settings settings = memory_through_mps(Enforcement::kMps);
  Observed seen = with_daemons();
  seen.ledger = held_by(47, settings);
  EXPECT_THAT(plan(seen, settings).catalog.notes, testing::IsEmpty());
  seen.ledger = held_by(48, settings);
  EXPECT_THAT(plan(seen, settings).catalog.notes,
              testing::ElementsAre(HasSubstr("as many containers hold memory of GPU-0 as MPS")));
}

TEST(Plan, LimitsTheClientsOfADaemonToTheLargestShareThatIsHeld) {
  const Settings settings = memory_through_mps(Enforcement::kMps);
  Observed seen = with_daemons();
  const MpsPlan unknown = *plan(seen, settings).mps;
  EXPECT_EQ(unknown.daemons.at(0).limits, MemoryLimits{81559ULL << 20});
  seen.ledger = held_by(2, settings);
  const MpsPlan known = *plan(seen, settings).mps;
  EXPECT_EQ(known.daemons.at(0).limits, MemoryLimits{1ULL << 30});
  EXPECT_FALSE(known.daemons.at(0).unheld);
  EXPECT_TRUE(known.daemons.at(1).unheld);
}

TEST(Plan, PassesTheRulesForMpsClientsOn) {
  Settings settings;
  settings.mps.rules = {.clients = MpsClients::kNonRoot, .end_holders = false};
  EXPECT_EQ(plan({.inventory = read_node()}, settings).mps->rules, settings.mps.rules);
}

TEST(Plan, HasTheExcludedGpusAndTheToolkitAmongItsFacts) {
  Settings settings;
  settings.sharing.excluded = {AnyUuid{"GPU-1"}};
  Observed seen{.inventory = read_node(), .control_nodes = {"/dev/nvidiactl"}};
  seen.inventory.limits_memory = true;
  EXPECT_EQ(plan(seen, settings).facts.toolkit, "");
  seen.cdi = ObservedCdi{};
  seen.cdi->files.toolkit = {.version = ToolkitVersion{1, 18, 2}, .is_exact = true};
  const NodeFacts facts = plan(seen, settings).facts;
  EXPECT_THAT(facts.excluded, testing::ElementsAre("GPU-1"));
  EXPECT_EQ(facts.toolkit, "1.18.2");
  EXPECT_THAT(facts.control_nodes, testing::ElementsAre("/dev/nvidiactl"));
  EXPECT_EQ(facts.driver_version, "580.105.08");
  EXPECT_TRUE(facts.driver_limits_memory);
  EXPECT_EQ(facts.devices.size(), 2U);
}

TEST(Plan, WritesTheHookThatLimitsMemoryOnlyWhereTheDriverDoes) {
  Observed seen{.inventory = read_node()};
  seen.inventory.limits_memory = true;
  seen.cdi = ObservedCdi{};
  DriverFiles& files = seen.cdi->files;
  files.toolkit = {.version = ToolkitVersion{1, 20, 1}, .is_exact = true};
  files.version = "615.10";
  files.libraries = {{.path = "/usr/lib64/libcuda.so.615.10", .soname = "libcuda.so.1"}};
  files.nodes["/dev/nvidia0"] = {.path = "/dev/nvidia0", .major = 195, .mode = 0666};
  const auto has_hook = [&](const Settings& settings) {
    const CdiPlan cdi = plan(seen, settings).cdi.value();
    return std::ranges::any_of(cdi.specs.at(0).devices.at(0).edits.hooks, [](const CdiHook& hook) {
      return std::ranges::find(hook.args, "apply-cuda-memory-limits") != hook.args.end();
    });
  };
  EXPECT_TRUE(has_hook(enforced_memory()));
  EXPECT_FALSE(has_hook({}));
  seen.limits_memory = true;
  EXPECT_TRUE(has_hook({}));
}

TEST(Plan, KeepsTheUnitsThatItHasChosen) {
  Settings settings = memory_through_mps(std::nullopt);
  settings.sharing.policies[0].unit.reset();
  Observed seen{.inventory = read_node()};
  EXPECT_EQ(plan(seen, settings).units, (KeptUnits{{"example.com/mem", 32ULL << 20}}));
  seen.units = {{"example.com/mem", 64ULL << 20}, {"old.com/mem", 1ULL << 30}};
  EXPECT_EQ(plan(seen, settings).units, (KeptUnits{{"example.com/mem", 64ULL << 20}}));
}

}  // namespace
}  // namespace tranche::core
