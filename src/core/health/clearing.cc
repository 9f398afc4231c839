// SPDX-License-Identifier: Apache-2.0
#include "core/health/clearing.h"

#include <algorithm>

namespace tranche::core {
namespace {

bool fell(const std::optional<std::uint64_t>& before, const std::optional<std::uint64_t>& after) {
  return before && after && *after < *before;
}

bool rebooted_since(const Fault& fault, const Evidence& evidence) {
  return !evidence.boot_id.empty() && !fault.boot_id.empty() && evidence.boot_id != fault.boot_id;
}

// The kernel unbound the card from the driver and bound it again: as after a reload of the
// module, the driver has initialised the card again.
bool rebound_since(const Fault& fault, const Evidence& evidence) {
  return fault.binding && evidence.binding && *fault.binding != *evidence.binding;
}

bool reset_since(const Fault& fault, const Evidence& evidence) {
  return fault.reset_seen || rebound_since(fault, evidence) || rebooted_since(fault, evidence);
}

bool driver_asks_nothing(const Vitals& vitals) {
  return !vitals.recovery_action || recovery_action_allows_use(*vitals.recovery_action);
}

// The driver reports no recovery action. Right after a fault that may still be the old
// value, so it counts only once the driver has reported an action meanwhile, or in a
// session opened after the fault. And it counts only where the driver's action covers such
// a fault.
bool driver_cleared(const Fault& fault, const Evidence& evidence) {
  if (reset_since(fault, evidence)) return driver_asks_nothing(evidence.vitals);
  if (!fault.action_tells || !evidence.vitals.recovery_action) return false;
  return driver_asks_nothing(evidence.vitals) &&
         (fault.driver_asked || evidence.session > fault.session);
}

// No repair is pending any more. Right after the fault it may not be recorded yet, so only
// a session opened after the fault counts.
bool none_pending(const std::optional<bool>& pending, const Fault& fault,
                  const Evidence& evidence) {
  if (!driver_asks_nothing(evidence.vitals)) return false;
  if (!pending) return reset_since(fault, evidence);
  return !*pending && (reset_since(fault, evidence) || evidence.session > fault.session);
}

// A link that was never up, or that the driver no longer lists, does not count.
bool links_are_up(const Fault& fault, const NvLinks& links) {
  return std::ranges::none_of(fault.links,
                              [&](unsigned link) { return links.down.contains(link); });
}

bool link_came_up(const Fault& fault, const Evidence& evidence) {
  if (!driver_asks_nothing(evidence.vitals)) return false;
  const bool tells = evidence.vitals.links && !fault.links.empty();
  if (!tells) return reset_since(fault, evidence);
  return links_are_up(fault, *evidence.vitals.links);
}

bool condition_gone(const Fault& fault, const Evidence& evidence) {
  switch (fault.kind) {
    case FaultKind::kLost:
    case FaultKind::kNeedsReset:
      // Answers in a session that has lost the GPU do not count.
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

std::string_view why_gone(FaultKind condition) {
  switch (condition) {
    case FaultKind::kLost:
    case FaultKind::kNeedsReset: return "it answers in a fresh session with the driver";
    case FaultKind::kRecoveryAction: return "the driver reports no recovery action";
    case FaultKind::kFabric: return "the NVLink fabric is ready";
    case FaultKind::kUnwatched: return "its events are watched";
    default: return "it answers";
  }
}

}  // namespace

std::string_view fallen_counter(const Vitals& before, const Vitals& after, bool same_session) {
  const bool kept = before.persistence.value_or(false) && after.persistence.value_or(false);
  if (!same_session && !kept) return {};
  if (fell(before.uncorrected_ecc, after.uncorrected_ecc)) {
    return "the counter of uncorrected memory errors fell";
  }
  if (fell(before.energy_mj, after.energy_mj)) return "the energy counter fell";
  if (fell(before.pcie_replays, after.pcie_replays)) return "the counter of PCIe replays fell";
  return {};
}

bool shows_reset(const Vitals& before, const Vitals& after, bool same_session) {
  return !fallen_counter(before, after, same_session).empty();
}

bool clears(const Fault& fault, const Evidence& evidence) {
  const Vitals& vitals = evidence.vitals;
  switch (fault.clearance) {
    case Clearance::kProbe: return driver_asks_nothing(vitals);
    case Clearance::kRecovery: return driver_cleared(fault, evidence);
    case Clearance::kReset: return reset_since(fault, evidence) && driver_asks_nothing(vitals);
    case Clearance::kReboot: return rebooted_since(fault, evidence) && driver_asks_nothing(vitals);
    case Clearance::kRepair: return none_pending(vitals.repair_pending, fault, evidence);
    case Clearance::kRetirement: return none_pending(vitals.units_pending, fault, evidence);
    case Clearance::kSound:
      return driver_cleared(fault, evidence) && !vitals.remap_failed.value_or(false);
    case Clearance::kLinks:
      return driver_cleared(fault, evidence) &&
             (!vitals.links || links_are_up(fault, *vitals.links));
    case Clearance::kLinkUp: return link_came_up(fault, evidence);
    case Clearance::kInforom: return vitals.inforom_valid.value_or(false);
    case Clearance::kCondition: return condition_gone(fault, evidence);
  }
  return false;
}

std::string why_cleared(const Fault& fault, const Evidence& evidence) {
  switch (fault.clearance) {
    case Clearance::kProbe: return "it answers and the driver reports no recovery action";
    case Clearance::kReboot: return "the node was rebooted";
    case Clearance::kInforom: return "the driver finds the card's own memory (InfoROM) valid";
    case Clearance::kCondition: return std::string(why_gone(fault.kind));
    default: break;
  }
  if (rebooted_since(fault, evidence)) return "the node was rebooted";
  if (fault.reset_seen) {
    return fault.reset_shown_by.empty() ? "a reset was seen"
                                        : "a reset was seen: " + fault.reset_shown_by;
  }
  if (rebound_since(fault, evidence)) {
    return "a reset was seen: the kernel bound the driver to the card again";
  }
  switch (fault.clearance) {
    case Clearance::kRepair: return "no row remap or page retirement is pending any more";
    case Clearance::kRetirement: return "no retirement of a channel or TPC is pending any more";
    case Clearance::kLinkUp: return "the NVLinks that were up before are up";
    default: return "the driver reports no recovery action";
  }
}

unsigned readings_needed(Clearance clearance, std::size_t recently) {
  // A reset is proof by itself; an answer of the GPU is weaker evidence.
  const bool weak = clearance == Clearance::kProbe || clearance == Clearance::kCondition ||
                    clearance == Clearance::kLinkUp;
  constexpr std::size_t kDoublings = 6;
  return (weak ? 2U : 1U) << std::min(recently, kDoublings);
}

}  // namespace tranche::core
