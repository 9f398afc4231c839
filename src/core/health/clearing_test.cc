// SPDX-License-Identifier: Apache-2.0
//
// One test for each row of the table in docs/health.md: what clears each class of fault, and what
// does not.
#include "core/health/clearing.h"

#include <gtest/gtest.h>

namespace tranche::core {
namespace {

// A fault of session 5 in boot "b1".
Fault a_fault(Clearance clearance) {
  return {.gpu = GpuUuid("GPU-0"), .clearance = clearance, .boot_id = "b1", .session = 5};
}

// The same session and boot; the driver reports no recovery action.
Evidence fine() { return {.vitals = {.recovery_action = 0}, .boot_id = "b1", .session = 5}; }

Evidence with_action(unsigned action) {
  Evidence evidence = fine();
  evidence.vitals.recovery_action = action;
  return evidence;
}

Evidence old_driver() {
  Evidence evidence = fine();
  evidence.vitals.recovery_action.reset();
  return evidence;
}

Evidence after_reboot() {
  Evidence evidence = fine();
  evidence.boot_id = "b2";
  return evidence;
}

Evidence in_fresh_session() {
  Evidence evidence = fine();
  evidence.session = 6;
  return evidence;
}

Fault after_reset(Clearance clearance) {
  Fault fault = a_fault(clearance);
  fault.reset_seen = true;
  return fault;
}

TEST(ApplicationFault, IsClearedByAPassingProbe) {
  EXPECT_TRUE(clears(a_fault(Clearance::kProbe), fine()));
  EXPECT_TRUE(clears(a_fault(Clearance::kProbe), old_driver()));
  EXPECT_FALSE(clears(a_fault(Clearance::kProbe), with_action(1)));
}

TEST(ResetFault, IsClearedByTheDriversWordOnceItHasAskedForSomething) {
  Fault fault = a_fault(Clearance::kRecovery);
  EXPECT_FALSE(clears(fault, fine())) << "the word may still be the old one";
  fault.driver_asked = true;
  EXPECT_FALSE(clears(fault, with_action(1)));
  EXPECT_TRUE(clears(fault, fine()));
}

TEST(ResetFault, IsClearedByTheDriversWordInAFreshSession) {
  EXPECT_TRUE(clears(a_fault(Clearance::kRecovery), in_fresh_session()));
}

TEST(ResetFault, OnAnOldDriverIsClearedByAResetOrAReboot) {
  EXPECT_FALSE(clears(a_fault(Clearance::kRecovery), old_driver()));
  Evidence fresh_but_wordless = old_driver();
  fresh_but_wordless.session = 6;
  EXPECT_FALSE(clears(a_fault(Clearance::kRecovery), fresh_but_wordless));
  EXPECT_TRUE(clears(after_reset(Clearance::kRecovery), old_driver()));
  Evidence rebooted = old_driver();
  rebooted.boot_id = "b2";
  EXPECT_TRUE(clears(a_fault(Clearance::kRecovery), rebooted));
}

TEST(ResetFault, IsNotClearedByAnActionThatDoesNotSpeakOfIt) {
  Fault fault = a_fault(Clearance::kRecovery);
  fault.action_tells = false;
  fault.driver_asked = true;  // because of another fault
  EXPECT_FALSE(clears(fault, in_fresh_session()));
  fault.reset_seen = true;
  EXPECT_TRUE(clears(fault, in_fresh_session()));
}

TEST(FallenOffTheBus, IsClearedByADriverThatWasBoundAgain) {
  Fault fault = a_fault(Clearance::kReset);
  fault.binding = 100;
  Evidence evidence = in_fresh_session();
  EXPECT_FALSE(clears(fault, evidence)) << "not known any more";
  evidence.binding = 100;
  EXPECT_FALSE(clears(fault, evidence));
  evidence.binding = 101;
  EXPECT_TRUE(clears(fault, evidence));
  fault.clearance = Clearance::kReboot;
  EXPECT_FALSE(clears(fault, evidence));
}

TEST(FallenOffTheBus, IsClearedByAResetOrARebootAndNotByTheDriversWord) {
  EXPECT_FALSE(clears(a_fault(Clearance::kReset), in_fresh_session()));
  EXPECT_TRUE(clears(after_reset(Clearance::kReset), fine()));
  EXPECT_TRUE(clears(a_fault(Clearance::kReset), after_reboot()));
  EXPECT_FALSE(clears(after_reset(Clearance::kReset), with_action(2)));
}

TEST(RebootFault, IsClearedByARebootAlone) {
  EXPECT_FALSE(clears(after_reset(Clearance::kReboot), in_fresh_session()));
  EXPECT_TRUE(clears(a_fault(Clearance::kReboot), after_reboot()));
}

TEST(RebootFault, StaysWhereTheBootIsNotKnown) {
  Evidence evidence = fine();
  evidence.boot_id.clear();
  EXPECT_FALSE(clears(a_fault(Clearance::kReboot), evidence));
}

TEST(RowRemap, IsClearedWhenNoneIsPendingAnyMore) {
  Evidence evidence = in_fresh_session();
  evidence.vitals.repair_pending = true;
  EXPECT_FALSE(clears(a_fault(Clearance::kRepair), evidence));
  evidence.vitals.repair_pending = false;
  EXPECT_TRUE(clears(a_fault(Clearance::kRepair), evidence));
}

TEST(RowRemap, MayNotBeRecordedYetInTheSessionOfTheFault) {
  Evidence evidence = fine();
  evidence.vitals.repair_pending = false;
  EXPECT_FALSE(clears(a_fault(Clearance::kRepair), evidence));
}

TEST(RowRemap, IsClearedByAResetWhereTheDriverDoesNotSay) {
  EXPECT_FALSE(clears(a_fault(Clearance::kRepair), fine()));
  EXPECT_TRUE(clears(after_reset(Clearance::kRepair), fine()));
}

TEST(RetiredUnit, IsClearedWhenNoRetirementIsPendingAnyMore) {
  Evidence evidence = in_fresh_session();
  evidence.vitals.repair_pending = false;
  EXPECT_FALSE(clears(a_fault(Clearance::kRetirement), evidence)) << "that is about memory";
  evidence.vitals.units_pending = true;
  EXPECT_FALSE(clears(a_fault(Clearance::kRetirement), evidence));
  evidence.vitals.units_pending = false;
  EXPECT_TRUE(clears(a_fault(Clearance::kRetirement), evidence));
}

TEST(RetiredUnit, IsClearedByAResetWhereTheDriverDoesNotSay) {
  EXPECT_FALSE(clears(a_fault(Clearance::kRetirement), in_fresh_session()));
  EXPECT_TRUE(clears(after_reset(Clearance::kRetirement), fine()));
}

TEST(FailedRowRemap, StaysUntilTheCardIsReplaced) {
  Evidence evidence = after_reboot();
  evidence.vitals.remap_failed = true;
  EXPECT_FALSE(clears(a_fault(Clearance::kSound), evidence));
  evidence.vitals.remap_failed = false;
  EXPECT_TRUE(clears(a_fault(Clearance::kSound), evidence));
}

TEST(NvLinkFault, IsClearedWhenTheLinksThatWereUpAreUp) {
  Fault fault = a_fault(Clearance::kLinks);
  fault.links = {0, 1, 2};
  Evidence evidence = in_fresh_session();
  evidence.vitals.links = {.up = {0, 2}, .down = {1}};
  EXPECT_FALSE(clears(fault, evidence));
  evidence.vitals.links = {.up = {0, 1, 2}, .down = {3, 4}};
  EXPECT_TRUE(clears(fault, evidence)) << "3 and 4 never were up";
  EXPECT_FALSE(clears(fault,
                      [&] {
                        Evidence same_session = evidence;
                        same_session.session = fault.session;
                        return same_session;
                      }()))
      << "the driver's word is needed as well";
}

TEST(NvLinkFault, DoesNotMissALinkThatTheDriverNoLongerHas) {
  Fault fault = a_fault(Clearance::kLinks);
  fault.links = {0, 1};
  Evidence evidence = in_fresh_session();
  evidence.vitals.links = {.up = {0}};
  EXPECT_TRUE(clears(fault, evidence));
}

TEST(LinkDown, IsClearedWhenTheLinksThatWereUpAreUp) {
  Fault fault = a_fault(Clearance::kLinkUp);
  fault.links = {0, 1};
  Evidence evidence = fine();
  evidence.vitals.links = {.up = {0}, .down = {1}};
  EXPECT_FALSE(clears(fault, evidence));
  evidence.vitals.links = {.up = {0, 1}, .down = {2}};
  EXPECT_TRUE(clears(fault, evidence));
}

TEST(LinkDown, IsClearedByAResetWhereNothingIsKnownOfTheLinks) {
  Evidence evidence = in_fresh_session();
  EXPECT_FALSE(clears(a_fault(Clearance::kLinkUp), evidence));
  evidence.vitals.links = {.up = {0}};
  EXPECT_FALSE(clears(a_fault(Clearance::kLinkUp), evidence)) << "which were up is not known";
  EXPECT_TRUE(clears(after_reset(Clearance::kLinkUp), evidence));
}

TEST(InforomFault, IsClearedWhenItValidates) {
  Evidence evidence = after_reboot();
  EXPECT_FALSE(clears(a_fault(Clearance::kInforom), evidence));
  evidence.vitals.inforom_valid = true;
  EXPECT_TRUE(clears(a_fault(Clearance::kInforom), evidence));
}

Fault a_condition(FaultKind kind) {
  Fault fault = a_fault(Clearance::kCondition);
  fault.kind = kind;
  return fault;
}

TEST(LostGpu, IsClearedWhenItAnswersInAFreshSession) {
  for (const FaultKind kind : {FaultKind::kLost, FaultKind::kNeedsReset}) {
    EXPECT_FALSE(clears(a_condition(kind), fine()));
    EXPECT_TRUE(clears(a_condition(kind), in_fresh_session()));
  }
}

TEST(HungGpu, IsClearedWhenItAnswers) {
  EXPECT_TRUE(clears(a_condition(FaultKind::kHung), fine()));
  EXPECT_TRUE(clears(a_condition(FaultKind::kNoAnswer), fine()));
}

TEST(RecoveryAction, IsClearedWhenTheDriverAsksForNothing) {
  EXPECT_FALSE(clears(a_condition(FaultKind::kRecoveryAction), with_action(4)));
  EXPECT_TRUE(clears(a_condition(FaultKind::kRecoveryAction), with_action(0)));
  EXPECT_TRUE(clears(a_condition(FaultKind::kRecoveryAction), with_action(5)))
      << "an IMEX domain to recover does not concern the GPU";
  EXPECT_FALSE(clears(a_condition(FaultKind::kRecoveryAction), with_action(77)))
      << "what we do not know is not usable";
}

TEST(FabricFault, IsClearedWhenTheFabricIsReady) {
  Evidence evidence = fine();
  evidence.vitals.fabric_ready = false;
  EXPECT_FALSE(clears(a_condition(FaultKind::kFabric), evidence));
  evidence.vitals.fabric_ready = true;
  EXPECT_TRUE(clears(a_condition(FaultKind::kFabric), evidence));
}

TEST(UnwatchedGpu, IsClearedWhenItsEventsAreWatched) {
  Evidence evidence = fine();
  evidence.unwatched = true;
  EXPECT_FALSE(clears(a_condition(FaultKind::kUnwatched), evidence));
  EXPECT_TRUE(clears(a_condition(FaultKind::kUnwatched), fine()));
}

TEST(ShowsReset, WhereACounterThatOnlyGrowsHasFallen) {
  EXPECT_TRUE(shows_reset({.uncorrected_ecc = 2}, {.uncorrected_ecc = 0}, true));
  EXPECT_TRUE(shows_reset({.energy_mj = 900}, {.energy_mj = 1}, true));
  EXPECT_TRUE(shows_reset({.pcie_replays = 3}, {.pcie_replays = 0}, true));
  EXPECT_FALSE(shows_reset({.uncorrected_ecc = 0, .energy_mj = 5},
                           {.uncorrected_ecc = 0, .energy_mj = 5}, true));
  EXPECT_FALSE(shows_reset({.energy_mj = 5}, {}, true));
  EXPECT_FALSE(shows_reset({}, {.energy_mj = 5}, true));
}

TEST(ShowsReset, NotWhereTheDriverMayHaveBeenClosedBetween) {
  const auto read = [](std::uint64_t energy_mj, std::optional<bool> persistence) {
    return Vitals{.energy_mj = energy_mj, .persistence = persistence};
  };
  EXPECT_FALSE(shows_reset(read(900, false), read(1, false), false));
  EXPECT_FALSE(shows_reset(read(900, std::nullopt), read(1, std::nullopt), false));
  EXPECT_FALSE(shows_reset(read(900, true), read(1, false), false));
  EXPECT_FALSE(shows_reset(read(900, false), read(1, true), false));
  EXPECT_TRUE(shows_reset(read(900, true), read(1, true), false));
  EXPECT_TRUE(shows_reset(read(900, false), read(1, false), true)) << "we had it open";
}

TEST(Flapping, DoublesWhatAGpuHasToPass) {
  EXPECT_EQ(readings_needed(Clearance::kProbe, 0), 2U);
  EXPECT_EQ(readings_needed(Clearance::kProbe, 1), 4U);
  EXPECT_EQ(readings_needed(Clearance::kReset, 3), 8U);
  EXPECT_EQ(readings_needed(Clearance::kReset, 1000), 64U);
}

}  // namespace
}  // namespace tranche::core
