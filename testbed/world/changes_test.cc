// SPDX-License-Identifier: Apache-2.0
#include "testbed/world/changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/driver/nvml/abi.h"
#include "testbed/world/defaults.h"
#include "testbed/worlds/builtin.h"

namespace tranche::testbed::sim {
namespace {

namespace abi = nvml::abi;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

World base() { return *builtin_world("hgx-h200"); }

World after(const Change& change, World world = base()) {
  Result<World> changed = change(std::move(world));
  EXPECT_TRUE(changed) << changed.error().message;
  return changed ? *changed : World{};
}

std::string refusal(const Change& change, World world = base()) {
  const Result<World> changed = change(std::move(world));
  return changed ? "" : changed.error().message;
}

std::vector<std::string> log_of(const World& world) {
  std::vector<std::string> lines;
  lines.reserve(world.kernel_log.size());
  for (const LogRecord& record : world.kernel_log) lines.push_back(record.text);
  return lines;
}

TEST(Changes, FindAGpuByPlaceUuidOrAddress) {
  EXPECT_EQ(after(lose(3)).gpus[3].state, Gpu::State::kLost);
  EXPECT_EQ(after(lose(base().gpus[3].uuid)), after(lose(3)));
  EXPECT_EQ(after(lose(PciAddress{.bus = 0x61})), after(lose(3)));
  EXPECT_THAT(refusal(lose(8)), HasSubstr("it has 8"));
  EXPECT_THAT(parse_gpu_ref("third").error().message, HasSubstr("its uuid"));
}

TEST(RaiseXid, TellsSessionsAndTheLog) {
  const World world = after(raise_xid(3, {.number = 31, .pid = 42, .process = "python"}));
  ASSERT_EQ(world.events.size(), 1U);
  EXPECT_EQ(world.events[0].gpu, world.gpus[3].uuid);
  EXPECT_EQ(world.events[0].data, 31U);
  EXPECT_THAT(log_of(world),
              ElementsAre("NVRM: GPU at PCI:0000:61:00: " + world.gpus[3].uuid.text,
                          HasSubstr("NVRM: Xid (PCI:0000:61:00): 31, pid=42, name=python, ")));
}

TEST(RaiseXid, TellsOfSomeInTheLogOnly) {
  for (const unsigned number : {79U, 119U, 120U}) {
    const World world = after(raise_xid(0, {.number = number}));
    EXPECT_TRUE(world.events.empty()) << number;
    EXPECT_EQ(world.kernel_log.size(), 2U);
  }
  const World told = after(raise_xid(0, {.number = 79, .route = Xid::Route::kEvent}));
  EXPECT_EQ(told.events.size(), 1U);
  EXPECT_TRUE(told.kernel_log.empty());
}

TEST(RaiseXid, IntroducesAGpuToTheLogOnce) {
  const World world = after(all_of({raise_xid(0, {.number = 13}), raise_xid(0, {.number = 13})}));
  EXPECT_EQ(world.kernel_log.size(), 3U);
}

TEST(Records, KeepTheLatest) {
  World world = base();
  for (int i = 0; i < 300; ++i) world = after(raise_event(0, 1), world);
  EXPECT_EQ(world.events.size(), 256U);
  EXPECT_EQ(world.events.back().number, 300U);
  EXPECT_EQ(world.next_number, 301U);
}

TEST(UncorrectableEcc, LeavesEveryTrace) {
  const World world = after(uncorrectable_ecc(1));
  const Vitals& vitals = world.gpus[1].vitals;
  EXPECT_EQ(vitals.ecc_volatile.uncorrected, 1U);
  EXPECT_EQ(vitals.ecc_aggregate.uncorrected, 1U);
  EXPECT_TRUE(vitals.remap_pending);
  EXPECT_EQ(vitals.recovery_action, abi::kRecoveryGpuReset);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> events;
  events.reserve(world.events.size());
  for (const Event& event : world.events) events.emplace_back(event.type, event.data);
  EXPECT_THAT(events, ElementsAre(std::pair(abi::kEventDoubleBitEcc, 0U),
                                  std::pair(abi::kEventXid, 48U), std::pair(abi::kEventXid, 154U),
                                  std::pair(abi::kEventRecoveryAction, 0U)));
  EXPECT_THAT(log_of(world).back(),
              HasSubstr("154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset "
                        "Required)"));
  EXPECT_THAT(refusal(uncorrectable_ecc(3), *builtin_world("mixed-models")), HasSubstr("no ECC"));
}

TEST(RecoveryAction, IsNotToldByDriversThatHadNone) {
  const World world = after(set_recovery_action(0, 1), *builtin_world("dgx1-v100"));
  EXPECT_EQ(world.gpus[0].vitals.recovery_action, 1U);
  EXPECT_TRUE(world.events.empty());
  EXPECT_TRUE(world.kernel_log.empty());
}

TEST(Reset, RestartsCountersHoweverOftenItHappens) {
  World world = after(uncorrectable_ecc(0));
  for (int i = 0; i < 3; ++i) {
    const std::uint64_t energy = world.gpus[0].vitals.energy_mj;
    world = after(reset(0), world);
    EXPECT_LT(world.gpus[0].vitals.energy_mj, energy);
  }
  const Gpu& gpu = world.gpus[0];
  EXPECT_EQ(gpu.vitals.ecc_volatile, EccCounts{});
  EXPECT_EQ(gpu.vitals.ecc_aggregate.uncorrected, 1U);
  EXPECT_EQ(gpu.vitals.remaps_uncorrectable, 1U);
  EXPECT_EQ(gpu.vitals.recovery_action, 0U);
  EXPECT_EQ(gpu.generation, 3U);
}

TEST(Reset, TakesWhatWasOnTheGpu) {
  const World world = after(all_of({
      set_mig(0, *parse_layout("3g.71gb")),
      set_processes(0, {{.pid = 1}}),
      edit_gpu(0, [](Gpu& gpu) { gpu.compute_mode = 3; }),
      reset(0),
  }));
  EXPECT_TRUE(world.gpus[0].mig.enabled);
  EXPECT_TRUE(world.gpus[0].mig.instances.empty());
  EXPECT_TRUE(world.gpus[0].processes.empty());
  EXPECT_EQ(world.gpus[0].compute_mode, 0U);
}

TEST(Reset, NeedsAGpuOnTheBus) {
  EXPECT_THAT(refusal(all_of({fall_off(0), reset(0)})), HasSubstr("off the bus"));
  EXPECT_EQ(after(all_of({fall_off(0), come_back(0)})).gpus[0].state, Gpu::State::kPresent);
}

TEST(Reboot, BeginsANewBootWithEverythingThere) {
  const World world = after(all_of(
      {lose(0), fall_off(1), set_mig(2, *parse_layout("3g.71gb")), unload_driver(), reboot()}));
  EXPECT_NE(world.boot_id, base().boot_id);
  EXPECT_TRUE(world.driver.loaded);
  EXPECT_TRUE(world.kernel_log.empty());
  EXPECT_EQ(world.gpus[0].state, Gpu::State::kPresent);
  EXPECT_EQ(world.gpus[1].state, Gpu::State::kPresent);
  EXPECT_FALSE(world.gpus[2].mig.enabled);  // Hopper forgets the mode
  const World ampere = after(reboot("b2"), *builtin_world("dgx-a100-mig-single"));
  EXPECT_TRUE(ampere.gpus[0].mig.enabled);
  EXPECT_TRUE(ampere.gpus[0].mig.instances.empty());
  EXPECT_EQ(ampere.boot_id, "b2");
}

TEST(LoadDriver, MakesLibraryAndModuleAgree) {
  const World world = after(all_of({set_module_version("1.2"), unload_driver(), load_driver()}));
  EXPECT_EQ(world.driver.module_version, world.driver.version);
  EXPECT_EQ(world.gpus[0].generation, 1U);
}

TEST(Plug, KeepsTheOrderOfAddresses) {
  Gpu gpu = default_gpu("h200-sxm", find_model("h200-sxm").value_or(Model{}), 9);
  gpu.pci = {.bus = 0x50};
  const World world = after(plug(gpu));
  EXPECT_EQ(world.gpus[2].uuid, gpu.uuid);
  EXPECT_EQ(after(unplug(2), world), base());
  EXPECT_THAT(refusal(plug(gpu), world), HasSubstr("is taken"));
}

TEST(SwapCard, PutsAnotherCardIntoTheSameSlot) {
  const World before = after(all_of({set_mig(2, *parse_layout("3g.71gb")), uncorrectable_ecc(2)}));
  const World world = after(swap_card(2, GpuUuid("GPU-b")), before);
  const Gpu& card = world.gpus[2];
  EXPECT_EQ(card.uuid, GpuUuid("GPU-b"));
  EXPECT_NE(card.serial, before.gpus[2].serial);
  EXPECT_EQ(card.serial.size(), 13U);
  EXPECT_EQ(card.pci, before.gpus[2].pci);
  EXPECT_EQ(card.minor, before.gpus[2].minor);
  EXPECT_EQ(card.model, before.gpus[2].model);
  EXPECT_EQ(card.links, before.gpus[2].links);
  EXPECT_EQ(card.vitals, Vitals{});
  EXPECT_EQ(card.mig, Mig{});
  EXPECT_GT(card.generation, before.gpus[2].generation) << "no session has seen it";
}

TEST(SwapCard, MayBringAnotherModel) {
  const World world = after(swap_card(2, GpuUuid("GPU-b"), "t4"));
  EXPECT_EQ(world.gpus[2].model.name, "Tesla T4");
  EXPECT_EQ(world.gpus[2].pci, base().gpus[2].pci);
  EXPECT_TRUE(world.gpus[2].links.empty());
  EXPECT_EQ(world.gpus[2].fabric.state, Fabric::State::kNotSupported);
  EXPECT_THAT(refusal(swap_card(2, GpuUuid("GPU-b"), "t5")), HasSubstr("no known model"));
  EXPECT_THAT(refusal(swap_card(2, base().gpus[3].uuid)), HasSubstr("in the world already"));
}

TEST(MemorySize, ChangesWithAResetAndRenamesMigProfiles) {
  const World world =
      after(all_of({set_mig(1, *parse_layout("3g.71gb")), set_memory_size(1, 143771 / 2)}));
  const Gpu& gpu = world.gpus[1];
  EXPECT_EQ(gpu.model.memory_mib, 143771U / 2);
  EXPECT_EQ(gpu.generation, 1U);
  EXPECT_TRUE(gpu.mig.enabled);
  EXPECT_TRUE(gpu.mig.instances.empty());
  EXPECT_NE(find_profile(gpu.model.mig, "3g.36gb"), nullptr);
  EXPECT_NE(find_profile(gpu.model.mig, "1g.9gb+me"), nullptr);
  EXPECT_EQ(find_profile(gpu.model.mig, "3g.71gb"), nullptr);
  EXPECT_THAT(refusal(set_memory_size(1, 0)), HasSubstr("no memory size"));
}

TEST(CallFaults, AreTakenBackByNameOrAllAtOnce) {
  const World world = after(all_of(
      {block_call("nvmlDeviceGetName", GpuRef(1)), fail_call({.call = "nvmlInit", .code = 9})}));
  ASSERT_EQ(world.faults.size(), 2U);
  EXPECT_EQ(world.faults[0].gpu, world.gpus[1].uuid);
  EXPECT_NE(world.faults[0].number, world.faults[1].number);
  EXPECT_EQ(after(clear_faults("nvmlInit"), world).faults.size(), 1U);
  EXPECT_TRUE(after(clear_faults(), world).faults.empty());
  EXPECT_THAT(refusal(block_call("cuInit")), HasSubstr("no function of the driver's library"));
}

TEST(MigChanges, TellSessions) {
  const World on = after(set_mig(0, *parse_layout("3g.71gb,3g.71gb")));
  EXPECT_EQ(on.events.back().type, abi::kEventMigConfigChange);
  const World fewer = after(remove_mig_device(0, 0), on);
  ASSERT_EQ(fewer.gpus[0].mig.instances.size(), 1U);
  EXPECT_EQ(fewer.gpus[0].mig.instances[0].compute[0].index, 1U);
  EXPECT_THAT(refusal(remove_mig_device(0, 5), on), HasSubstr("no MIG device 5"));
  EXPECT_FALSE(after(mig_off(0), on).gpus[0].mig.enabled);
  EXPECT_THAT(refusal(mig_off(0), *builtin_world("t4-single")), HasSubstr("has no MIG"));
}

}  // namespace
}  // namespace tranche::testbed::sim
