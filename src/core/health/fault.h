// SPDX-License-Identifier: Apache-2.0
//
// A fault makes a GPU unhealthy until evidence clears it. Time alone clears nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/gpu/gpu.h"
#include "core/health/driver_reading.h"

namespace tranche::core {

// The evidence that clears a fault. docs/health.md has the table for people.
enum class Clearance {
  kProbe,       // the GPU answers and the driver reports no recovery action
  kRecovery,    // the driver reports no recovery action after this fault; if its
                // actions do not cover such a fault: a reset or a reboot was seen
  kReset,       // a reset or a reboot was seen, whatever the driver reports
  kReboot,      // the node was rebooted
  kRepair,      // no row remap or page retirement is pending any more
  kRetirement,  // no retirement of a channel or TPC is pending any more
  kSound,       // as kRecovery, and no row remap has failed; else replace the card
  kLinks,       // as kRecovery, and the NVLinks that were up before are up
  kLinkUp,      // the NVLinks that were up before are up
  kInforom,     // the card's own memory validates
  kCondition,   // the condition is gone in a reading
};

std::string_view to_string(Clearance clearance);
std::optional<Clearance> parse_clearance(std::string_view text);

enum class FaultKind {
  kXid,
  kLost,
  kNeedsReset,
  kHung,
  kNoAnswer,        // a call fails in another way
  kRecoveryAction,  // the driver reports a recovery action
  kFabric,
  kUnwatched
};

std::string_view to_string(FaultKind kind);
std::optional<FaultKind> parse_fault_kind(std::string_view text);

struct Fault {
  GpuUuid gpu;
  std::optional<MigUuid> slice;  // the fault affects only this MIG device
  FaultKind kind = FaultKind::kXid;
  unsigned xid = 0;  // for kXid
  std::string text;  // for people: "XID 79: the GPU fell off the bus"
  Clearance clearance = Clearance::kProbe;
  // The driver's recovery action covers such faults. If it does not, "none" is no evidence.
  bool action_tells = true;

  // When it was seen, to distinguish later evidence from earlier state.
  std::string boot_id;
  std::uint64_t session = 0;
  std::optional<std::uint64_t> binding;  // of the kernel's driver to the card
  std::set<unsigned> links;              // NVLinks known to have been up
  // Until the GPU has answered once, a reset may be from before the fault.
  bool order_unknown = false;

  // Evidence since then.
  bool answered = false;      // the GPU, in a reading
  bool driver_asked = false;  // a recovery action other than none
  // The session in which the driver last asked for a reset or reported one as required.
  std::optional<std::uint64_t> reset_asked;
  bool reset_seen = false;
  std::string reset_shown_by;  // for people; empty: seen by an earlier agent
  unsigned passed = 0;         // readings in a row that would clear it
  unsigned needed = 1;         // how many it takes; more for a GPU that flaps

  bool operator==(const Fault&) const = default;
};

// Name of a recovery action; for an unknown number it says that it is unknown.
std::string recovery_action_text(unsigned action);
// Whether a GPU may be used while the driver reports this action. False for unknown
// actions.
bool recovery_action_allows_use(unsigned action);
// Whether only a GPU reset ends the action.
bool recovery_action_is_reset(unsigned action);

}  // namespace tranche::core
