// SPDX-License-Identifier: Apache-2.0
//
// Requests for the next poll because of open faults.
#include <algorithm>

#include "core/health/node_state.h"

namespace tranche::core {
namespace {

// In the session of the fault, in which answers do not count.
bool says_none_pending(const NodeState& state, const Fault& fault) {
  const auto found = state.vitals.find(fault.gpu);
  if (found == state.vitals.end()) return false;
  const auto& pending = fault.clearance == Clearance::kRepair ? found->second.repair_pending
                                                              : found->second.units_pending;
  return pending == std::optional(false);
}

}  // namespace

ReadRequest next_read_request(const NodeState& state) {
  const auto waits_for = [&](Clearance clearance) {
    return std::ranges::count(state.faults, clearance, &Fault::clearance) > 0;
  };
  const auto waits_for_reset = [](const Fault& fault) {
    const bool ends_with_reset =
        fault.clearance == Clearance::kRecovery || fault.clearance == Clearance::kReset ||
        fault.clearance == Clearance::kRepair || fault.clearance == Clearance::kSound ||
        fault.clearance == Clearance::kRetirement || fault.clearance == Clearance::kLinks ||
        fault.clearance == Clearance::kLinkUp;
    return ends_with_reset && !fault.reset_seen;
  };
  return {.energy = std::ranges::any_of(state.faults, waits_for_reset),
          .links = waits_for(Clearance::kLinks) || waits_for(Clearance::kLinkUp),
          .inforom = waits_for(Clearance::kInforom),
          .units = waits_for(Clearance::kRetirement)};
}

bool wants_fresh_session(const NodeState& state) {
  if (state.has_unidentified_gpu) return true;
  return std::ranges::any_of(state.faults, [&](const Fault& fault) {
    if (fault.session != state.session) return false;
    switch (fault.clearance) {
      case Clearance::kRecovery:
      case Clearance::kSound:
      case Clearance::kLinks: return fault.action_tells && !fault.driver_asked;
      case Clearance::kRepair:
      case Clearance::kRetirement: return says_none_pending(state, fault);
      case Clearance::kCondition:
        return fault.kind == FaultKind::kLost || fault.kind == FaultKind::kNeedsReset;
      default: return false;
    }
  });
}

}  // namespace tranche::core
