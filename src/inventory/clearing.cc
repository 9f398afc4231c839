// SPDX-License-Identifier: Apache-2.0
#include "inventory/clearing.h"

#include <algorithm>

namespace tranche {
namespace {

bool fell(const std::optional<std::uint64_t>& before, const std::optional<std::uint64_t>& after) {
  return before && after && *after < *before;
}

bool rebooted_since(const Fault& fault, const Evidence& evidence) {
  return !evidence.boot_id.empty() && !fault.boot_id.empty() && evidence.boot_id != fault.boot_id;
}

bool reset_since(const Fault& fault, const Evidence& evidence) {
  return fault.reset_seen || rebooted_since(fault, evidence);
}

bool driver_asks_nothing(const Vitals& vitals) {
  return !vitals.recovery_action || recovery_action_allows_use(*vitals.recovery_action);
}

// The driver's word that the GPU may be used. Right after a fault the word may
// still be the old one, so it counts only once the driver has asked for
// something meanwhile, or says it in a session that is younger than the fault.
bool driver_cleared(const Fault& fault, const Evidence& evidence) {
  if (reset_since(fault, evidence)) return driver_asks_nothing(evidence.vitals);
  if (!evidence.vitals.recovery_action) return false;
  return driver_asks_nothing(evidence.vitals) &&
         (fault.driver_asked || evidence.session > fault.session);
}

bool condition_gone(const Fault& fault, const Evidence& evidence) {
  switch (fault.kind) {
    case FaultKind::kLost:
    case FaultKind::kNeedsReset:
      // It answers: but a session that has lost a GPU is not to be believed.
      return evidence.session > fault.session && driver_asks_nothing(evidence.vitals);
    case FaultKind::kRecoveryAction: return driver_asks_nothing(evidence.vitals);
    case FaultKind::kFabric: return evidence.vitals.fabric_ready.value_or(true);
    case FaultKind::kUnwatched: return !evidence.unwatched;
    case FaultKind::kHung:
    case FaultKind::kNoAnswer:
    case FaultKind::kXid: return true;  // that it answers is the evidence
  }
  return false;
}

}  // namespace

bool shows_reset(const Vitals& before, const Vitals& after) {
  return fell(before.uncorrected_ecc, after.uncorrected_ecc) ||
         fell(before.energy_mj, after.energy_mj) || fell(before.pcie_replays, after.pcie_replays);
}

bool clears(const Fault& fault, const Evidence& evidence) {
  const Vitals& vitals = evidence.vitals;
  switch (fault.clearance) {
    case Clearance::kProbe: return driver_asks_nothing(vitals);
    case Clearance::kRecovery: return driver_cleared(fault, evidence);
    case Clearance::kReset: return reset_since(fault, evidence) && driver_asks_nothing(vitals);
    case Clearance::kReboot: return rebooted_since(fault, evidence) && driver_asks_nothing(vitals);
    case Clearance::kRepair:
      if (!vitals.repair_pending) return reset_since(fault, evidence);
      return !*vitals.repair_pending && driver_asks_nothing(vitals);
    case Clearance::kSound:
      return driver_cleared(fault, evidence) && !vitals.remap_failed.value_or(false);
    case Clearance::kLinks:
      return driver_cleared(fault, evidence) && vitals.links_down.value_or(0) == 0;
    case Clearance::kInforom: return vitals.inforom_valid.value_or(false);
    case Clearance::kCondition: return condition_gone(fault, evidence);
  }
  return false;
}

unsigned readings_needed(Clearance clearance, std::size_t recently) {
  // A reset is proof by itself; that a GPU answers is a weaker sign.
  const bool weak = clearance == Clearance::kProbe || clearance == Clearance::kCondition;
  constexpr std::size_t kDoublings = 6;
  return (weak ? 2U : 1U) << std::min(recently, kDoublings);
}

}  // namespace tranche
