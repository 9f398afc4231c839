// SPDX-License-Identifier: Apache-2.0
//
// Which evidence counts as a reset, and what clears which XID.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/health/node_state.h"
#include "core/health/testing/readings.h"
#include "core/health/xid_table.h"

namespace tranche::core {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

DriverEvent xid(unsigned number) {
  return {.kind = DriverEvent::Kind::kXid, .gpu = GpuUuid("GPU-0"), .xid = number};
}

DriverReading reading(const Vitals& vitals, std::uint64_t session) {
  DriverReading one = all_fine(1, session);
  one.gpus[0].vitals = vitals;
  return one;
}

// Its energy counter stands at 1000.
NodeState with_xid(unsigned number, std::optional<bool> persistence = std::nullopt) {
  NodeState state = with_reading(
      {}, reading({.recovery_action = 0, .energy_mj = 1000, .persistence = persistence}, 1),
      kAround);
  return with_event(std::move(state), xid(number), {}, kAround);
}

NodeState fine_in_later_sessions(NodeState state, std::uint64_t first = 2) {
  for (std::uint64_t session = first; session < first + 5; ++session) {
    state = with_reading(std::move(state), reading({.recovery_action = 0}, session), kAround);
  }
  return state;
}

TEST(ResetEvidence, IsNoCounterThatFellBecauseWeClosedTheDriver) {
  for (const std::optional<bool> persistence : {std::optional<bool>(), std::optional(false)}) {
    NodeState state = with_xid(119, persistence);
    state = with_reading(
        std::move(state),
        reading({.recovery_action = 0, .energy_mj = 3, .persistence = persistence}, 2), kAround);
    EXPECT_THAT(state.faults, SizeIs(1));
  }
}

TEST(ResetEvidence, IsACounterThatFellWhilePersistenceModeKeptIt) {
  NodeState state = with_xid(119, true);
  state = with_reading(std::move(state),
                       reading({.recovery_action = 0, .energy_mj = 3, .persistence = true}, 2),
                       kAround);
  EXPECT_THAT(state.faults, IsEmpty());
}

// Only the second drop counts: the first is from a driver that we closed.
TEST(ResetEvidence, IsComparedWithTheLastReadingOfTheSession) {
  NodeState state = with_xid(119, false);
  state = with_reading(std::move(state), reading({.energy_mj = 3}, 2), kAround);
  state = with_reading(std::move(state), reading({.energy_mj = 50}, 2), kAround);
  EXPECT_THAT(state.faults, SizeIs(1));
  state = with_reading(std::move(state), reading({.energy_mj = 2}, 2), kAround);
  EXPECT_THAT(state.faults, IsEmpty());
}

TEST(ResetEvidence, IsAResetThatTheDriverAskedForAndNoLongerAsksFor) {
  for (const unsigned asked : {1U, 4U, 6U}) {
    NodeState state = with_xid(119);
    state = with_reading(std::move(state), reading({.recovery_action = asked}, 1), kAround);
    state = with_reading(std::move(state), reading({.recovery_action = 0}, 1), kAround);
    EXPECT_THAT(state.faults, testing::Not(IsEmpty())) << "the session was open all the time";
    EXPECT_THAT(fine_in_later_sessions(std::move(state)).faults, IsEmpty()) << asked;
  }
}

TEST(ResetEvidence, IsNoOtherActionThatTheDriverAskedFor) {
  NodeState state = with_xid(119);
  state = with_reading(std::move(state), reading({.recovery_action = 3}, 1), kAround);
  EXPECT_THAT(fine_in_later_sessions(std::move(state)).faults, SizeIs(1));
}

TEST(ResetEvidence, IsAGpuThatRequiredAResetAndAnswersInAFreshSession) {
  NodeState state = with_xid(119);
  state = with_reading(
      std::move(state),
      reading_of({failing(0, FailureKind::kNeedsReset, "nvmlDeviceGetMemoryInfo: reset")}, 1),
      kAround);
  state = with_reading(std::move(state), reading({}, 1), kAround);
  EXPECT_THAT(state.faults, SizeIs(2));
  EXPECT_THAT(fine_in_later_sessions(std::move(state)).faults, IsEmpty());
}

TEST(ResetEvidence, IsADriverThatTheKernelBoundAgain) {
  Surroundings around = kAround;
  std::uint64_t binding = 100;
  around.driver_binding = [&](const PciAddress&) { return binding; };
  NodeState state = with_event(with_reading({}, reading({}, 1), around), xid(119), {}, around);
  state = with_reading(std::move(state), reading({}, 2), around);
  EXPECT_THAT(state.faults, SizeIs(1));
  binding = 101;
  state = with_reading(std::move(state), reading({}, 3), around);
  EXPECT_THAT(state.faults, IsEmpty());
}

// It is not known whether the GPU was reset before the XID or after it.
TEST(ResetEvidence, IsNoneThatMayBeFromBeforeTheFault) {
  const Vitals before{.recovery_action = 0, .energy_mj = 1000, .persistence = true};
  Surroundings unwatched = kAround;
  unwatched.order_unknown = true;
  NodeState state = with_reading({}, reading(before, 1), kAround);
  state = with_event(std::move(state), xid(119), {}, unwatched);
  Vitals after = before;
  after.energy_mj = 50;
  state = with_reading(std::move(state), reading(after, 2), kAround);
  EXPECT_THAT(state.faults, SizeIs(1));
  after.energy_mj = 3;
  state = with_reading(std::move(state), reading(after, 3), kAround);
  EXPECT_THAT(state.faults, IsEmpty()) << "from here on the order is known";
}

// Not every poll reads energy: the last value may be from long before the fault.
TEST(ResetEvidence, IsNoCounterThatFellBeforeTheFault) {
  const Vitals unread{.recovery_action = 0, .persistence = true};
  const auto with_energy = [&](std::uint64_t energy_mj) {
    Vitals vitals = unread;
    vitals.energy_mj = energy_mj;
    return vitals;
  };
  for (const std::uint64_t session : {1U, 2U}) {
    for (const unsigned number : {79U, 119U}) {
      NodeState state = with_reading({}, reading(with_energy(1000), 1), kAround);
      state = with_reading(std::move(state), reading(unread, session), kAround);
      state = with_event(std::move(state), xid(number), {}, kAround);
      state = with_reading(std::move(state), reading(with_energy(50), session), kAround);
      EXPECT_THAT(state.faults, SizeIs(1)) << number << " in session " << session;
      state = with_reading(std::move(state), reading(with_energy(60), session), kAround);
      EXPECT_THAT(state.faults, SizeIs(1)) << number << " in session " << session;
      state = with_reading(std::move(state), reading(with_energy(3), session + 1), kAround);
      EXPECT_THAT(state.faults, IsEmpty()) << "a reset after the fault";
    }
  }
}

// It was not read in the session of the fault, and the one before is no evidence.
TEST(ResetEvidence, IsNoCounterOfASessionBeforeTheOneOfTheFault) {
  NodeState state = with_reading({}, reading({.energy_mj = 1000, .persistence = true}, 1), kAround);
  state = with_reading(std::move(state), reading({.persistence = true}, 2), kAround);
  state = with_event(std::move(state), xid(119), {}, kAround);
  state =
      with_reading(std::move(state), reading({.energy_mj = 3, .persistence = true}, 3), kAround);
  EXPECT_THAT(state.faults, SizeIs(1));
}

// The driver reports a counter only at the second poll of a session without persistence mode.
TEST(ResetEvidence, IsNoCounterOfAnotherSessionThatIsReadLater) {
  for (const Vitals& before :
       {Vitals{.uncorrected_ecc = 5}, Vitals{.energy_mj = 5}, Vitals{.pcie_replays = 5}}) {
    Vitals after = before;
    for (auto* counter : {&after.uncorrected_ecc, &after.energy_mj, &after.pcie_replays}) {
      if (*counter) *counter = 1;
    }
    NodeState state = with_reading({}, reading(before, 1), kAround);
    state = with_event(std::move(state), xid(119), {}, kAround);
    state = with_reading(std::move(state), reading({}, 2), kAround);
    state = with_reading(std::move(state), reading(after, 2), kAround);
    EXPECT_THAT(state.faults, SizeIs(1));
  }
}

// A card off the bus first answers after the reset.
TEST(ResetEvidence, IsACounterThatFellOnACardThatDidNotAnswerSinceTheFault) {
  NodeState state = with_xid(79, true);
  state = with_reading(std::move(state), reading_of({failing(0, FailureKind::kLost, "lost")}, 1),
                       kAround);
  const DriverReading after =
      reading({.recovery_action = 0, .energy_mj = 3, .persistence = true}, 2);
  state = with_reading(with_reading(std::move(state), after, kAround), after, kAround);
  EXPECT_THAT(state.faults, IsEmpty());
}

std::string end_of(const NodeState& state) {
  return state.ended.empty() ? "" : state.ended[0].trouble + ": " + state.ended[0].what;
}

TEST(EndOfAFault, SaysWhatWasSeen) {
  const Vitals fine{.recovery_action = 0, .energy_mj = 2000, .persistence = true};
  NodeState state = with_reading(with_xid(119, true), reading(fine, 1), kAround);
  EXPECT_EQ(end_of(state), "");
  Vitals after = fine;
  after.energy_mj = 3;
  state = with_reading(std::move(state), reading(after, 2), kAround);
  EXPECT_THAT(end_of(state), testing::EndsWith(": a reset was seen: the energy counter fell"));
  state = with_reading(std::move(state), reading(after, 2), kAround);
  EXPECT_EQ(end_of(state), "") << "of the last reading alone";

  state = with_reading(with_xid(48), reading({.recovery_action = 1}, 1), kAround);
  state = with_reading(std::move(state), reading({.recovery_action = 0}, 1), kAround);
  EXPECT_THAT(end_of(state), testing::EndsWith(": the driver reports no recovery action"));

  Surroundings rebooted = kAround;
  rebooted.boot_id = "b2";
  state = with_reading(with_xid(54), reading({.recovery_action = 0}, 1), rebooted);
  EXPECT_THAT(end_of(state), testing::EndsWith(": the node was rebooted"));
}

// No XID 154 follows these: the action is none before and after.
TEST(XidWithoutARecoveryAction, IsNotClearedByTheDriversWord) {
  for (const unsigned number :
       {46U, 59U, 61U, 79U, 119U, 140U, 156U, 159U, 166U, 169U, 170U, 999U, 12345U}) {
    EXPECT_THAT(fine_in_later_sessions(with_xid(number)).faults, SizeIs(1)) << number;
  }
}

TEST(XidWithARecoveryAction, IsClearedByTheDriversWord) {
  for (const unsigned number : {48U, 62U, 64U, 74U, 95U, 110U, 120U, 136U, 143U, 150U, 154U}) {
    EXPECT_THAT(fine_in_later_sessions(with_xid(number)).faults, IsEmpty()) << number;
  }
}

TEST(XidWithARecoveryAction, NeedsAResetOnADriverBeforeTheActionSpokeOfIt) {
  EXPECT_TRUE(action_tells(xid_facts(48), "565.57.01"));
  EXPECT_FALSE(action_tells(xid_facts(48), "560.35.03"));
  EXPECT_FALSE(action_tells(xid_facts(48), ""));
  EXPECT_FALSE(action_tells(xid_facts(109), "565.57.01"));
  EXPECT_TRUE(action_tells(xid_facts(109), "570.86.10"));
  EXPECT_FALSE(action_tells(xid_facts(143), "570.86.10"));
  DriverReading old = reading({.recovery_action = 0}, 1);
  old.driver_version = "570.86.10";
  NodeState state = with_event(with_reading({}, old, kAround), xid(143), {}, kAround);
  EXPECT_THAT(fine_in_later_sessions(std::move(state)).faults, SizeIs(1));
}

TEST(NvLinkXid, IsClearedOnACardWithLinksThatNeverWereUp) {
  const Vitals before{.recovery_action = 0, .links = NvLinks{.up = {0, 1}, .down = {2, 3}}};
  NodeState state = with_event(with_reading({}, reading(before, 1), kAround), xid(74), {}, kAround);
  Vitals broken = before;
  broken.links = NvLinks{.up = {0}, .down = {1, 2, 3}};
  state = with_reading(std::move(state), reading(broken, 2), kAround);
  EXPECT_THAT(state.faults, SizeIs(1));
  state = with_reading(std::move(state), reading(before, 3), kAround);
  EXPECT_THAT(state.faults, IsEmpty());
}

// Where MIG devices hide the flag, it is still set.
TEST(FailedRowRemap, IsRememberedWhereTheDriverNoLongerTells) {
  NodeState state = with_xid(64);
  state = with_reading(std::move(state), reading({.recovery_action = 0, .remap_failed = true}, 2),
                       kAround);
  EXPECT_THAT(fine_in_later_sessions(std::move(state), 3).faults, SizeIs(1));
}

}  // namespace
}  // namespace tranche::core
