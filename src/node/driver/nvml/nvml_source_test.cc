// SPDX-License-Identifier: Apache-2.0
//
// NvmlSource with the real loader and the simulated library.
#include "node/driver/nvml/nvml_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "node/driver/nvml/testing/source_on_a_world.h"

namespace tranche::node::nvml {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST_F(NvmlSourceOnAWorld, ReadsEveryGpuOfANode) {
  open("hgx-h200");
  const DriverReading reading = read();
  EXPECT_EQ(reading.kind, DriverKind::kNvml);
  EXPECT_EQ(reading.driver_version, "580.105.08");
  EXPECT_EQ(reading.cuda_version, "13.0");
  ASSERT_THAT(reading.gpus, SizeIs(8));
  const GpuReading& fifth = reading.gpus[4];
  ASSERT_TRUE(fifth.gpu);
  EXPECT_THAT(fifth.gpu->uuid.text, testing::StartsWith("GPU-"));
  EXPECT_EQ(fifth.gpu->index, 4U);
  EXPECT_EQ(fifth.gpu->minor, 4U);
  EXPECT_EQ(fifth.gpu->pci, (PciAddress{0, 0x9d, 0, 0}));
  EXPECT_EQ(fifth.gpu->model, "NVIDIA H200");
  EXPECT_EQ(fifth.gpu->memory_bytes, 143771ULL << 20);
  EXPECT_EQ(fifth.gpu->compute_major, 9U);
  EXPECT_EQ(fifth.gpu->numa_node, 1U);
  EXPECT_FALSE(fifth.gpu->mig_enabled);
  EXPECT_EQ(fifth.vitals.recovery_action, 0U);
  EXPECT_EQ(fifth.vitals.fabric_ready, true);
  EXPECT_EQ(fifth.unwatched, "");
}

TEST_F(NvmlSourceOnAWorld, SeesNvLinksThroughSwitches) {
  open("hgx-h200");
  const Topology topology = read().topology;
  EXPECT_EQ(topology.between(0, 7), (GpuLink{PcieDistance::kAcrossSystem, 18}));
  EXPECT_EQ(topology.between(0, 3), (GpuLink{PcieDistance::kSameNode, 18}));
}

TEST_F(NvmlSourceOnAWorld, SeesDirectNvLinks) {
  open("dgx1-v100");
  const Topology topology = read().topology;
  EXPECT_EQ(topology.between(0, 3), (GpuLink{PcieDistance::kHostBridge, 2}));
  EXPECT_EQ(topology.between(0, 1), (GpuLink{PcieDistance::kOneSwitch, 1}));
  EXPECT_EQ(topology.between(0, 7), (GpuLink{PcieDistance::kAcrossSystem, 0}));
}

TEST_F(NvmlSourceOnAWorld, ReadsMigDevicesWithTheirNamesAndCapabilities) {
  open("dgx-a100-mig-mixed");
  const DriverReading reading = read();
  const Gpu& cut = *reading.gpus.at(7).gpu;
  ASSERT_TRUE(cut.mig_enabled);
  std::vector<std::string> profiles;
  for (const MigDevice& mig : cut.mig) {
    profiles.push_back(to_string(mig.profile));
    EXPECT_TRUE(mig.gpu_instance_cap) << profiles.back();
    EXPECT_EQ(mig.gpu_instance_cap, 3 + 135 * 7 + 9 * mig.gpu_instance);
    EXPECT_EQ(mig.compute_instance_cap,
              3 + 135 * 7 + 9 * mig.gpu_instance + 1 + mig.compute_instance);
  }
  EXPECT_THAT(profiles,
              testing::UnorderedElementsAre("1c.3g.20gb", "2c.3g.20gb", "2g.10gb", "1g.5gb+me"));
  EXPECT_FALSE(reading.gpus.at(0).gpu->mig_enabled);
}

TEST_F(NvmlSourceOnAWorld, TakesUpAnotherMigLayout) {
  open("dgx-h100");
  EXPECT_THAT(read().gpus[2].gpu->mig, IsEmpty());
  const auto half = sim::parse_wanted("3g.40gb");
  ASSERT_TRUE(half);
  apply(sim::set_mig(2, {*half, *half}));
  const auto changed = event();
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->kind, DriverEvent::Kind::kMigChanged);
  const DriverReading reading = read();
  EXPECT_TRUE(reading.gpus[2].gpu->mig_enabled);
  EXPECT_THAT(reading.gpus[2].gpu->mig, SizeIs(2));
}

TEST_F(NvmlSourceOnAWorld, KeepsALostGpuFromHidingTheOthers) {
  open("hgx-h200");
  const DriverReading before = read();
  apply(sim::lose(3));
  const DriverReading after = read();
  ASSERT_THAT(after.gpus, SizeIs(8));
  ASSERT_THAT(failures(after), SizeIs(1));
  EXPECT_EQ(after.gpus[3].failure->kind, FailureKind::kLost);
  EXPECT_THAT(after.gpus[3].failure->what, HasSubstr("nvmlDeviceGetHandleByIndex: "));
  EXPECT_EQ(after.gpus[4].gpu, before.gpus[4].gpu);
}

TEST_F(NvmlSourceOnAWorld, SeesThatAGpuNeedsAReset) {
  open("hgx-h200");
  read();
  apply(sim::require_reset(1));
  const DriverReading reading = read();
  const GpuReading& gpu = reading.gpus[1];
  const bool seen = (gpu.failure && gpu.failure->kind == FailureKind::kNeedsReset) ||
                    gpu.vitals.recovery_action.value_or(0) != 0;
  EXPECT_TRUE(seen);
}

TEST_F(NvmlSourceOnAWorld, BringsXidsWithTheirGpuAndInstance) {
  open("hgx-h200");
  const DriverReading reading = read();
  apply(sim::raise_xid(5, {.number = 95, .gpu_instance = 1, .compute_instance = 0}));
  const auto xid = event();
  ASSERT_TRUE(xid);
  EXPECT_EQ(*xid, (DriverEvent{.kind = DriverEvent::Kind::kXid,
                               .gpu = reading.gpus[5].gpu->uuid,
                               .xid = 95,
                               .gpu_instance = 1,
                               .compute_instance = 0}));
}

TEST_F(NvmlSourceOnAWorld, KnowsWhoseTheLastWordsOfALostGpuWere) {
  open("hgx-h200");
  const DriverReading before = read();
  apply(sim::all_of({sim::uncorrectable_ecc(3), sim::reset(3)}));
  ASSERT_TRUE(read().gpus[3].failure);
  const auto said = event();
  ASSERT_TRUE(said);
  EXPECT_EQ(said->gpu, before.gpus[3].gpu->uuid);
}

TEST_F(NvmlSourceOnAWorld, ReadsWhatShowsAReset) {
  open("hgx-h200");
  const DriverReading before = read({.energy = true});
  ASSERT_TRUE(before.gpus[0].vitals.energy_mj);
  apply(sim::uncorrectable_ecc(0));
  const DriverReading hurt = read({.energy = true});
  EXPECT_EQ(hurt.gpus[0].vitals.uncorrected_ecc, 1U);
  EXPECT_NE(hurt.gpus[0].vitals.recovery_action, 0U);
  source_->close();
  apply(sim::reset(0));
  ASSERT_TRUE(source_->open());
  const DriverReading after = read({.energy = true});
  EXPECT_EQ(after.gpus[0].vitals.uncorrected_ecc, 0U);
  EXPECT_LT(after.gpus[0].vitals.energy_mj, before.gpus[0].vitals.energy_mj);
  EXPECT_EQ(after.gpus[0].vitals.recovery_action, 0U);
  EXPECT_GT(after.session, before.session);
}

TEST_F(NvmlSourceOnAWorld, DoesNotMindACallThatFailsOnce) {
  open("hgx-h200");
  read();
  apply(
      sim::fail_call({.call = "nvmlDeviceGetUUID", .code = abi::kUnknown, .times = 1, .gpu = 2U}));
  EXPECT_THAT(failures(read()), IsEmpty());
}

TEST_F(NvmlSourceOnAWorld, ReportsACallThatGoesOnFailing) {
  open("hgx-h200");
  read();
  apply(sim::fail_call({.call = "nvmlDeviceGetUUID", .code = abi::kUnknown, .gpu = 2U}));
  const DriverReading reading = read();
  ASSERT_THAT(failures(reading), SizeIs(1));
  EXPECT_EQ(reading.gpus[2].failure->kind, FailureKind::kOther);
  apply(sim::clear_faults());
  EXPECT_THAT(failures(read()), IsEmpty());
}

TEST_F(NvmlSourceOnAWorld, AsksAgainForASizeThatItDidNotGet) {
  open("hgx-h200");
  apply(sim::fail_call(
      {.call = "nvmlDeviceGetMemoryInfo", .code = abi::kUnknown, .times = 1, .gpu = 2U}));
  EXPECT_EQ(read().gpus[2].gpu->memory_bytes, 0U);
  EXPECT_EQ(read().gpus[2].gpu->memory_bytes, 143771ULL << 20);
}

TEST_F(NvmlSourceOnAWorld, LearnsInANewSessionWhichNodesAreWhose) {
  open("hgx-h200");
  EXPECT_EQ(read().gpus[2].gpu->minor, 2U);
  apply(sim::all_of({sim::edit_gpu(2U, [](sim::Gpu& gpu) { gpu.minor = 3; }),
                     sim::edit_gpu(3U, [](sim::Gpu& gpu) { gpu.minor = 2; })}));
  ASSERT_TRUE(source_->open());
  const DriverReading reading = read();
  EXPECT_EQ(reading.gpus[2].gpu->minor, 3U);
  EXPECT_EQ(reading.gpus[3].gpu->minor, 2U);
}

TEST_F(NvmlSourceOnAWorld, GoesOnReadingTheOthersWhileOneHangs) {
  patience_ = milliseconds(1'000);
  open("hgx-h200");
  const DriverReading before = read();
  apply(sim::block_call("nvmlDeviceGetUUID", sim::GpuRef(6U)));
  for (int i = 0; i < 3; ++i) {
    const DriverReading reading = read();
    ASSERT_THAT(failures(reading), SizeIs(1));
    EXPECT_EQ(reading.gpus[6].failure->kind, FailureKind::kHung);
    EXPECT_EQ(reading.gpus[6].gpu->uuid, before.gpus[6].gpu->uuid) << "who it is stays known";
  }
  EXPECT_EQ(calls_left_behind(), 1) << "one thread is left behind, not one for each look";
  apply(sim::clear_faults());
  while (calls_left_behind() > 0) std::this_thread::yield();
  EXPECT_THAT(failures(read()), IsEmpty());
}

TEST_F(NvmlSourceOnAWorld, SaysWhenAHungCallKeepsTheDriverOpen) {
  patience_ = milliseconds(200);
  open("hgx-h200");
  read();
  apply(sim::block_call("nvmlDeviceGetUUID", sim::GpuRef(6U)));
  read();
  source_->close();
  EXPECT_THAT(logged_, HasSubstr("a driver call that does not return keeps the driver open"));
  EXPECT_THAT(source_->still_open(),
              testing::StartsWith("a driver call of the agent has not returned: one about GPU-"));
  apply(sim::clear_faults());
  while (calls_left_behind() > 0) std::this_thread::yield();
}

TEST_F(NvmlSourceOnAWorld, SaysThatADriverHangsAsAWhole) {
  patience_ = milliseconds(100);
  open("t4-single");
  apply(sim::block_call("nvmlDeviceGetCount_v2"));
  const Result<DriverReading> reading = source_->read({});
  ASSERT_FALSE(reading);
  EXPECT_EQ(reading.error().message, "nvmlDeviceGetCount does not return");
  apply(sim::clear_faults());
  while (calls_left_behind() > 0) std::this_thread::yield();
  EXPECT_TRUE(source_->read({}));
}

TEST_F(NvmlSourceOnAWorld, SaysThatTheDriverIsNotLoaded) {
  start("hgx-h200");
  apply(sim::unload_driver());
  const Status opened = source_->open();
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("nvmlInit: "));
  EXPECT_EQ(opened.error().code, ErrorCode::kUnavailable);
  apply(sim::load_driver());
  EXPECT_TRUE(source_->open());
}

TEST_F(NvmlSourceOnAWorld, SaysThatThereIsNoLibrary) {
  NvmlSource source({.container_root = "/nowhere"}, KernelFiles("/nowhere"), log_);
  const Status opened = source.open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(opened.error().message, HasSubstr("libnvidia-ml.so.1"));
}

sim::World with_driver(const char* world, const char* version) {
  sim::World made = *sim::builtin_world(world);
  made.driver.version = made.driver.module_version = version;
  return made;
}

TEST_F(NvmlSourceOnAWorld, SeesThatADriverLimitsMemory) {
  start(with_driver("hgx-h200", "615.10.01"));
  ASSERT_TRUE(source_->open());
  EXPECT_TRUE(read().limits_memory);
}

TEST_F(NvmlSourceOnAWorld, SeesThatADriverBeforeR615DoesNotLimitMemory) {
  // The simulated library has the function and answers "not supported", as such a driver would.
  open("hgx-h200");
  EXPECT_FALSE(read().limits_memory);
}

TEST_F(NvmlSourceOnAWorld, AsksTheNextGpuForLimitsWhereOneDoesNotAnswer) {
  start(with_driver("hgx-h200", "615.10.01"));
  apply(sim::lose(0));
  ASSERT_TRUE(source_->open());
  EXPECT_TRUE(read().limits_memory);
}

TEST_F(NvmlSourceOnAWorld, KnowsTheDriverEvenWhereAskingForLimitsHangs) {
  patience_ = seconds(1);
  start(with_driver("t4-single", "615.10.01"));
  apply(sim::block_call("nvmlDeviceGetMemoryLimits_v1"));
  ASSERT_TRUE(source_->open());
  const DriverReading reading = read();
  EXPECT_EQ(reading.driver_version, "615.10.01");
  EXPECT_FALSE(reading.limits_memory);
  apply(sim::clear_faults());
}

TEST_F(NvmlSourceOnAWorld, SeesAGpuTakenOutInAFreshSession) {
  open("t4-quad");
  EXPECT_THAT(read().gpus, SizeIs(4));
  apply(sim::unplug(3));
  ASSERT_TRUE(source_->open());
  EXPECT_THAT(read().gpus, SizeIs(3));
}

TEST_F(NvmlSourceOnAWorld, WatchesTheOthersAgainWhenTheSetHoldsALostGpu) {
  open("hgx-h200");
  read();
  apply(sim::fail_call({.call = "nvmlEventSetWait_v2", .code = abi::kGpuIsLost, .times = 1}));
  EXPECT_FALSE(source_->wait(milliseconds(10)));
  EXPECT_FALSE(source_->wait(milliseconds(10))) << "no set until the driver is read again";
  const DriverReading reading = read();
  EXPECT_THAT(failures(reading), IsEmpty());
  apply(sim::raise_xid(2, {.number = 62}));
  const auto xid = event();
  ASSERT_TRUE(xid);
  EXPECT_EQ(xid->xid, 62U);
}

TEST_F(NvmlSourceOnAWorld, SaysWhereEventsCannotBeWatched) {
  start("hgx-h200");
  apply(sim::fail_call({.call = "nvmlDeviceRegisterEvents", .code = abi::kUnknown, .gpu = 1U}));
  ASSERT_TRUE(source_->open());
  const DriverReading reading = read();
  EXPECT_THAT(reading.gpus[1].unwatched, HasSubstr("nvmlDeviceRegisterEvents: "));
  EXPECT_EQ(reading.gpus[0].unwatched, "");
  apply(sim::clear_faults());
  EXPECT_EQ(read().gpus[1].unwatched, "");
}

TEST_F(NvmlSourceOnAWorld, KnowsLinksFromTheFirstLookAndWhenAskedTo) {
  open("hgx-h200");
  const std::optional<NvLinks> first = read().gpus[0].vitals.links;
  ASSERT_TRUE(first);
  EXPECT_THAT(first->up, SizeIs(18));
  EXPECT_THAT(first->down, IsEmpty());
  EXPECT_EQ(read().gpus[0].vitals.links, std::nullopt);
  apply(sim::set_link(0, 5, false));
  const std::optional<NvLinks> now = read({.links = true}).gpus[0].vitals.links;
  ASSERT_TRUE(now);
  EXPECT_THAT(now->up, SizeIs(17));
  EXPECT_THAT(now->down, ElementsAre(5U));
}

TEST_F(NvmlSourceOnAWorld, CountsLinksThatAreNotConnectedNeitherAsUpNorAsDown) {
  open("t4-single");
  EXPECT_EQ(read().gpus[0].vitals.links, NvLinks{});
}

TEST_F(NvmlSourceOnAWorld, ReadsPendingRetirementsOfUnitsWhenAskedTo) {
  open("hgx-h200");
  EXPECT_EQ(read().gpus[0].vitals.units_pending, std::nullopt);
  EXPECT_EQ(read({.units = true}).gpus[0].vitals.units_pending, false);
  apply(sim::edit_gpu(0, [](sim::Gpu& gpu) { gpu.vitals.channel_repair_pending = true; }));
  EXPECT_EQ(read({.units = true}).gpus[0].vitals.units_pending, true);
}

TEST_F(NvmlSourceOnAWorld, KnowsWhetherTheDriverKeepsTheGpuWhileNobodyHasItOpen) {
  start("hgx-h200");
  apply(sim::edit_gpu(1, [](sim::Gpu& gpu) { gpu.persistence = false; }));
  ASSERT_TRUE(source_->open());
  const DriverReading reading = read();
  EXPECT_EQ(reading.gpus[0].vitals.persistence, true);
  EXPECT_EQ(reading.gpus[1].vitals.persistence, false);
}

TEST_F(NvmlSourceOnAWorld, ValidatesTheInforomWhenAskedTo) {
  open("hgx-h200");
  EXPECT_EQ(read({.inforom = true}).gpus[0].vitals.inforom_valid, true);
}

}  // namespace
}  // namespace tranche::node::nvml
