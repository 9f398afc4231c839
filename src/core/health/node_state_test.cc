// SPDX-License-Identifier: Apache-2.0
#include "core/health/node_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/gpu/testing/literals.h"
#include "core/health/testing/readings.h"

namespace tranche::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

DriverEvent xid(const char* gpu, unsigned number) {
  return {.kind = DriverEvent::Kind::kXid, .gpu = GpuUuid(gpu), .xid = number};
}

std::string reason(const NodeState& state, unsigned index) {
  return present(state).gpus.at(index).health.reason();
}

std::vector<std::string> unhealthy(const NodeState& state) {
  std::vector<std::string> uuids;
  for (const Gpu& gpu : present(state).gpus) {
    if (!gpu.health.ok()) uuids.push_back(gpu.uuid.text);
    for (const MigDevice& mig : gpu.mig) {
      if (!mig.health.ok()) uuids.push_back(mig.uuid.text);
    }
  }
  return uuids;
}

TEST(Reading, TellsWhetherTheDriverLimitsMemory) {
  DriverReading reading = all_fine(1);
  EXPECT_FALSE(present(with_reading({}, reading, kAround)).limits_memory);
  reading.limits_memory = true;
  EXPECT_TRUE(present(with_reading({}, reading, kAround)).limits_memory);
}

TEST(NodeState, KnowsHealthyGpusAfterAReading) {
  const NodeState state = node_of(2);
  EXPECT_THAT(present(state).gpus, SizeIs(2));
  EXPECT_THAT(unhealthy(state), IsEmpty());
}

TEST(NodeState, KeepsALostGpuInTheInventoryButUnhealthy) {
  NodeState state = node_of(3);
  state = with_reading(state,
                       reading_of({answering(a_gpu(0)),
                                   failing(1, FailureKind::kLost, "nvmlDeviceGetUUID: GPU is lost"),
                                   answering(a_gpu(2))}),
                       kAround);
  EXPECT_THAT(present(state).gpus, SizeIs(3));
  EXPECT_THAT(unhealthy(state), ElementsAre("GPU-1"));
  EXPECT_EQ(reason(state, 1), "nvmlDeviceGetUUID: GPU is lost");
}

TEST(NodeState, ClearsALostGpuThatAnswersInAFreshSession) {
  NodeState state = with_reading(
      node_of(2), reading_of({answering(a_gpu(0)), failing(1, FailureKind::kLost, "lost")}),
      kAround);
  EXPECT_TRUE(wants_fresh_session(state));
  state = with_reading(state, all_fine(2, 1), kAround);
  state = with_reading(state, all_fine(2, 1), kAround);
  EXPECT_THAT(unhealthy(state), ElementsAre("GPU-1")) << "the old session is not to be believed";
  state = with_reading(state, all_fine(2, 2), kAround);
  EXPECT_THAT(unhealthy(state), ElementsAre("GPU-1")) << "one answer is not enough";
  state = with_reading(state, all_fine(2, 2), kAround);
  EXPECT_THAT(unhealthy(state), IsEmpty());
  EXPECT_FALSE(wants_fresh_session(state));
}

TEST(NodeState, WantsFreshSessionsForAsLongAsAGpuIsLost) {
  NodeState state = with_reading(
      node_of(2), reading_of({answering(a_gpu(0)), failing(1, FailureKind::kLost, "lost")}),
      kAround);
  DriverReading second =
      reading_of({answering(a_gpu(0)), failing(1, FailureKind::kLost, "still lost")});
  second.session = 2;
  state = with_reading(state, second, kAround);
  EXPECT_TRUE(wants_fresh_session(state)) << "this session, too, never sees it come back";
  state = with_reading(state, all_fine(2, 2), kAround);
  state = with_reading(state, all_fine(2, 2), kAround);
  EXPECT_THAT(unhealthy(state), ElementsAre("GPU-1")) << "nor is it to be believed";
  state = with_reading(state, all_fine(2, 3), kAround);
  state = with_reading(state, all_fine(2, 3), kAround);
  EXPECT_THAT(unhealthy(state), IsEmpty());
}

TEST(NodeState, CountsAGpuThatVanishesFromTheListAsLost) {
  NodeState state = with_reading(node_of(2), all_fine(1), kAround);
  EXPECT_THAT(unhealthy(state), ElementsAre("GPU-1"));
  EXPECT_EQ(reason(state, 1), "the driver no longer lists the GPU");
}

TEST(NodeState, CallsAGpuLostThatTheDriverDoesNotList) {
  NodeState state = with_reading(node_of(2), all_fine(1), kAround);
  EXPECT_TRUE(present(state).gpus.at(1).lost);
  while (!present(state).gpus.at(1).health.ok()) {
    const std::uint64_t next_session = state.session + 1;
    state = with_reading(std::move(state), all_fine(2, next_session), kAround);
  }
  EXPECT_FALSE(present(state).gpus.at(1).lost);
  EXPECT_FALSE(present(with_event(node_of(1), xid("GPU-0", 79), {}, kAround)).gpus.at(0).lost);
}

TEST(NodeState, ForgetsAGpuThatWasTakenOut) {
  Surroundings around = kAround;
  around.has_pci_device = [](const PciAddress& pci) { return pci != *a_gpu(1).pci; };
  const NodeState state = with_reading(node_of(2), all_fine(1), around);
  EXPECT_THAT(present(state).gpus, SizeIs(1));
}

TEST(NodeState, KeepsAGpuWhereItIsNotKnownWhetherItWasTakenOut) {
  EXPECT_THAT(present(with_reading(node_of(2), all_fine(1), kAround)).gpus, SizeIs(2));
}

TEST(NodeState, TakesNodeNamesForUuidsOnceTheLibraryIsThere) {
  Gpu by_node = a_gpu(0);
  by_node.uuid = GpuUuid("nvidia0");
  DriverReading nodes = reading_of({answering(by_node)});
  nodes.kind = DriverKind::kDeviceNodes;
  NodeState state = with_driver_trouble(with_reading({}, nodes, kAround), "going", false);
  state = with_reading(state, all_fine(1), kAround);
  ASSERT_THAT(present(state).gpus, SizeIs(1));
  EXPECT_EQ(present(state).gpus[0].uuid, GpuUuid("GPU-0"));
}

TEST(NodeState, TakesUpAGpuThatIsPluggedIn) {
  EXPECT_THAT(present(with_reading(node_of(1), all_fine(2), kAround)).gpus, SizeIs(2));
}

TEST(NodeState, TakesUpAnotherMigLayout) {
  NodeState state = with_reading({}, reading_of({answering(a_cut_gpu(0, {k3g40gb}))}), kAround);
  state = with_reading(state, reading_of({answering(a_cut_gpu(0, {k1g10gb, k1g10gb}))}), kAround);
  EXPECT_THAT(present(state).gpus[0].mig, SizeIs(2));
}

TEST(NodeState, LetsNoGpuHideAnother) {
  const NodeState state = with_reading(
      node_of(4),
      reading_of({failing(0, FailureKind::kHung, "nvmlDeviceGetUUID hangs"), answering(a_gpu(1)),
                  failing(2, FailureKind::kOther, "nvmlDeviceGetUUID: Unknown Error"),
                  answering(a_gpu(3))}),
      kAround);
  EXPECT_THAT(unhealthy(state), ElementsAre("GPU-0", "GPU-2"));
}

TEST(NodeState, PassesOverAGpuThatNeverSaidWhoItIs) {
  const NodeState state = with_reading(
      {}, reading_of({answering(a_gpu(0)), failing(1, FailureKind::kLost, "lost")}), kAround);
  EXPECT_THAT(present(state).gpus, SizeIs(1));
}

// Lost before the agent started: no open fault asks for it.
TEST(NodeState, WantsFreshSessionsForAGpuThatNeverSaidWhoItIs) {
  NodeState state = with_reading(
      {}, reading_of({answering(a_gpu(0)), failing(1, FailureKind::kLost, "lost")}), kAround);
  EXPECT_TRUE(wants_fresh_session(state));
  state = with_reading(std::move(state), all_fine(2, 2), kAround);
  EXPECT_FALSE(wants_fresh_session(state));
}

TEST(Xid, MakesItsGpuUnhealthyWithAReason) {
  const NodeState state = with_event(node_of(2), xid("GPU-1", 79), {}, kAround);
  EXPECT_THAT(unhealthy(state), ElementsAre("GPU-1"));
  EXPECT_EQ(reason(state, 1), "XID 79: the GPU fell off the bus");
}

TEST(Xid, OfAnApplicationIsIgnoredAsByNvidiasPlugin) {
  for (const unsigned number : {13U, 31U, 43U, 45U, 68U, 109U}) {
    EXPECT_THAT(unhealthy(with_event(node_of(1), xid("GPU-0", number), {}, kAround)), IsEmpty());
  }
}

TEST(Xid, OfAGpuThatCannotBeToldHitsAll) {
  const DriverEvent event{.kind = DriverEvent::Kind::kXid, .xid = 95};
  EXPECT_THAT(unhealthy(with_event(node_of(2), event, {}, kAround)), ElementsAre("GPU-0", "GPU-1"));
}

TEST(Xid, OfAnApplicationOnASliceHitsThatSlice) {
  NodeState state =
      with_reading({}, reading_of({answering(a_cut_gpu(0, {k1g10gb, k1g10gb}))}), kAround);
  DriverEvent event = xid("GPU-0", 94);
  event.gpu_instance = 2;
  event.compute_instance = 0;
  state = with_event(state, event, {}, kAround);
  EXPECT_THAT(unhealthy(state), ElementsAre("MIG-0-1"));
}

TEST(Xid, ThatNeedsAResetHitsTheWholeGpuWhateverSliceItNames) {
  NodeState state =
      with_reading({}, reading_of({answering(a_cut_gpu(0, {k1g10gb, k1g10gb}))}), kAround);
  DriverEvent event = xid("GPU-0", 95);
  event.gpu_instance = 2;
  event.compute_instance = 0;
  EXPECT_THAT(unhealthy(with_event(state, event, {}, kAround)), ElementsAre("GPU-0"));
}

TEST(Xid, OnASliceGoesWithTheSlice) {
  NodeState state =
      with_reading({}, reading_of({answering(a_cut_gpu(0, {k1g10gb, k1g10gb}))}), kAround);
  DriverEvent event = xid("GPU-0", 94);
  event.gpu_instance = 2;
  state = with_event(state, event, {}, kAround);
  state = with_reading(state, reading_of({answering(a_cut_gpu(0, {k1g10gb}))}), kAround);
  EXPECT_THAT(state.faults, IsEmpty());
}

TEST(Xid, OfAnApplicationIsClearedByPassingReadings) {
  NodeState state = with_event(node_of(1), xid("GPU-0", 94), {}, kAround);
  state = with_reading(state, all_fine(1), kAround);
  EXPECT_THAT(unhealthy(state), ElementsAre("GPU-0"));
  state = with_reading(state, all_fine(1), kAround);
  EXPECT_THAT(unhealthy(state), IsEmpty());
}

TEST(Xid, ThatNeedsAResetStaysWhateverTimePasses) {
  NodeState state = with_event(node_of(1), xid("GPU-0", 79), {}, kAround);
  for (int day = 0; day < 100; ++day) {
    Surroundings later = kAround;
    later.now += 86400L * day;
    state = with_reading(state, all_fine(1, 2 + static_cast<std::uint64_t>(day)), later);
  }
  EXPECT_THAT(unhealthy(state), ElementsAre("GPU-0"));
}

TEST(Xid, ThatNeedsAResetIsClearedByOneSeenInTheCounters) {
  NodeState state = with_event(node_of(1), xid("GPU-0", 79), {}, kAround);
  state = with_reading(state, all_fine(1), kAround);
  DriverReading after = all_fine(1);
  after.gpus[0].vitals.energy_mj = 3;  // it was 1000
  state = with_reading(state, after, kAround);
  EXPECT_THAT(unhealthy(state), IsEmpty());
}

TEST(Xid, ThatNeedsAResetIsClearedByADriverThatWasReloaded) {
  NodeState state = with_event(node_of(1), xid("GPU-0", 79), {}, kAround);
  state = with_driver_trouble(state, "the driver is not loaded", true);
  EXPECT_THAT(reason(state, 0),
              "driver: the driver is not loaded; XID 79: the GPU fell off the bus");
  state = with_reading(state, all_fine(1, 2), kAround);
  EXPECT_THAT(unhealthy(state), IsEmpty());
}

TEST(Xid, ThatComesAgainNeedsEvidenceAgain) {
  NodeState state = with_event(node_of(1), xid("GPU-0", 119), {}, kAround);
  state = with_reading(state, all_fine(1), kAround);
  DriverReading after = all_fine(1);
  after.gpus[0].vitals = {.recovery_action = 1, .energy_mj = 3};
  state = with_reading(state, after, kAround);  // reset, but the driver asks for another
  state = with_event(state, xid("GPU-0", 119), {}, kAround);
  DriverReading fine = all_fine(1);
  fine.gpus[0].vitals.energy_mj = 10;
  for (int i = 0; i < 5; ++i) state = with_reading(state, fine, kAround);
  EXPECT_THAT(unhealthy(state), ElementsAre("GPU-0"));
}

TEST(RecoveryActionReading, MakesTheGpuUnhealthyUntilTheDriverIsContent) {
  DriverReading asking = all_fine(1);
  asking.gpus[0].vitals.recovery_action = 4;
  NodeState state = with_reading(node_of(1), asking, kAround);
  EXPECT_EQ(reason(state, 0), "the driver asks for: drain and reset");
  asking.gpus[0].vitals.recovery_action = 1;
  state = with_reading(state, asking, kAround);
  EXPECT_EQ(reason(state, 0), "the driver asks for: GPU reset");
  state = with_reading(state, all_fine(1), kAround);
  state = with_reading(state, all_fine(1), kAround);
  EXPECT_THAT(unhealthy(state), IsEmpty());
}

TEST(FabricReading, MakesTheGpuUnhealthyUntilItIsReady) {
  DriverReading starting = all_fine(1);
  starting.gpus[0].vitals.fabric_ready = false;
  const NodeState state = with_reading({}, starting, kAround);
  EXPECT_THAT(reason(state, 0), HasSubstr("the NVLink fabric is not ready"));
}

TEST(UnwatchedReading, IsNotCalledHealthy) {
  DriverReading reading = all_fine(1);
  reading.gpus[0].unwatched = "nvmlDeviceRegisterEvents: Unknown Error";
  EXPECT_EQ(reason(with_reading({}, reading, kAround), 0),
            "its events cannot be watched: nvmlDeviceRegisterEvents: Unknown Error");
}

TEST(Flapping, MakesAGpuWaitLongerEachTime) {
  NodeState state = node_of(1);
  std::vector<int> readings;
  Surroundings around = kAround;
  for (int fault = 0; fault < 4; ++fault) {
    state = with_event(state, xid("GPU-0", 94), {}, around);
    int count = 0;
    for (; !unhealthy(state).empty(); ++count) {
      around.now += 5;
      state = with_reading(state, all_fine(1), around);
    }
    readings.push_back(count);
  }
  EXPECT_THAT(readings, ElementsAre(2, 4, 8, 16));
}

TEST(Flapping, IsForgottenAfterAQuietHour) {
  NodeState state = with_event(node_of(1), xid("GPU-0", 94), {}, kAround);
  state = with_reading(state, all_fine(1), kAround);
  state = with_reading(state, all_fine(1), kAround);
  Surroundings later = kAround;
  later.now += 3601;
  state = with_event(state, xid("GPU-0", 94), {}, later);
  ASSERT_THAT(state.faults, SizeIs(1));
  EXPECT_EQ(state.faults[0].needed, 2U);
}

TEST(DriverTrouble, MakesEveryGpuUnhealthyAndHidesNone) {
  NodeState state = with_driver_trouble(node_of(2), "Driver Not Loaded", true);
  EXPECT_THAT(unhealthy(state), ElementsAre("GPU-0", "GPU-1"));
  state = with_reading(state, all_fine(2, 2), kAround);
  EXPECT_THAT(unhealthy(state), IsEmpty());
}

TEST(Release, MakesTheGpusConcernedUnhealthyUntilTheyAreTakenUpAgain) {
  NodeState state = with_release(node_of(2), {GpuUuid("GPU-1")}, true);
  EXPECT_THAT(unhealthy(state), ElementsAre("GPU-1"));
  EXPECT_THAT(reason(state, 1), "released on request");
  state = with_reading(with_resume(state), all_fine(2, 3), kAround);
  EXPECT_THAT(unhealthy(state), IsEmpty());
}

TEST(Remedies, SayWhatEndsEachTrouble) {
  NodeState state = with_event(node_of(2), xid("GPU-1", 79), {}, kAround);
  state = with_release(state, {GpuUuid("GPU-1")}, true);
  EXPECT_THAT(present(state).remedies,
              ElementsAre(Remedy{"GPU-1", "released on request", "`resume`"},
                          Remedy{"GPU-1", "XID 79: the GPU fell off the bus",
                                 "a reset of the GPU or a reboot of the node"}));
}

TEST(Release, OfNoneInParticularIsOfAll) {
  const NodeState state = with_release(node_of(2), {}, true);
  EXPECT_THAT(unhealthy(state), ElementsAre("GPU-0", "GPU-1"));
}

TEST(Release, OfOneAfterTheOtherIsOfBoth) {
  NodeState state = with_release(node_of(3), {GpuUuid("GPU-1")}, true);
  state = with_release(state, {GpuUuid("GPU-2")}, true);
  EXPECT_THAT(unhealthy(state), ElementsAre("GPU-1", "GPU-2"));
}

TEST(Release, CallsTheOthersUnwatchedWhereTheKernelLogDoesNotTell) {
  const NodeState state = with_release(node_of(2), {GpuUuid("GPU-1")}, false);
  EXPECT_THAT(unhealthy(state), ElementsAre("GPU-0", "GPU-1"));
  EXPECT_THAT(reason(state, 0), HasSubstr("not watched"));
  EXPECT_THAT(reason(state, 1), HasSubstr("released on request"));
}

TEST(ReadRequest, AsksForCountersWhileAFaultWaitsForAReset) {
  EXPECT_FALSE(next_read_request(node_of(1)).energy);
  EXPECT_TRUE(next_read_request(with_event(node_of(1), xid("GPU-0", 48), {}, kAround)).energy);
}

TEST(ReadRequest, AsksForWhatOpenFaultsWaitFor) {
  EXPECT_FALSE(next_read_request(node_of(1)).links);
  EXPECT_TRUE(next_read_request(with_event(node_of(1), xid("GPU-0", 74), {}, kAround)).links);
  EXPECT_TRUE(next_read_request(with_event(node_of(1), xid("GPU-0", 125), {}, kAround)).inforom);
}

TEST(FreshSession, IsWantedForTheDriversWordOnAFaultItHasNotSpokenOf) {
  NodeState state = with_event(node_of(1), xid("GPU-0", 48), {}, kAround);
  EXPECT_TRUE(wants_fresh_session(state));
  EXPECT_FALSE(wants_fresh_session(with_event(node_of(1), xid("GPU-0", 79), {}, kAround)));
  EXPECT_FALSE(wants_fresh_session(node_of(1)));
}

}  // namespace
}  // namespace tranche::core
