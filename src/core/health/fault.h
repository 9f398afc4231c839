// SPDX-License-Identifier: Apache-2.0
//
// A fault: what made a GPU unhealthy, and what must be seen before it counts
// as healthy again. Time alone clears nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/gpu/gpu.h"
#include "core/health/driver_reading.h"

namespace tranche::core {

// What clears a fault. docs/health.md has the same as a table for people.
enum class Clearance {
  kProbe,       // the GPU answers and the driver reports no recovery action
  kRecovery,    // the driver's recovery action is back at none; where this driver
                // has no action for such a fault: a reset or a reboot was seen
  kReset,       // a reset or a reboot was seen; the recovery action is not enough
  kReboot,      // the node was rebooted
  kRepair,      // no row remap or page retirement is pending any more
  kRetirement,  // no retirement of a channel or TPC is pending any more
  kSound,       // as kRecovery, and no row remap has failed; else it is for replacement
  kLinks,       // as kRecovery, and the NVLinks that were up before are up
  kLinkUp,      // the NVLinks that were up before are up
  kInforom,     // the card's own memory validates
  kCondition,   // what was seen in a reading is no longer seen
};

std::string_view to_string(Clearance clearance);
std::optional<Clearance> parse_clearance(std::string_view text);

enum class FaultKind {
  kXid,
  kLost,
  kNeedsReset,
  kHung,
  kNoAnswer,        // a call fails in another way
  kRecoveryAction,  // the driver asks for something
  kFabric,
  kUnwatched
};

std::string_view to_string(FaultKind kind);
std::optional<FaultKind> parse_fault_kind(std::string_view text);

struct Fault {
  GpuUuid gpu;
  std::optional<MigUuid> slice;  // the fault is this MIG device's alone
  FaultKind kind = FaultKind::kXid;
  unsigned xid = 0;  // for kXid
  std::string text;  // for people: "XID 79: the GPU fell off the bus"
  Clearance clearance = Clearance::kProbe;
  // The driver's recovery action covers such faults. Where it never changes for them, the
  // action "none" is no evidence.
  bool action_tells = true;

  // When it was seen, to distinguish later evidence from earlier state.
  std::string boot_id;
  std::uint64_t session = 0;
  std::optional<std::uint64_t> binding;  // of the kernel's driver to the card
  std::set<unsigned> links;              // NVLinks known to have been up
  // Until the GPU has answered once, a reset may be one from before the fault.
  bool order_unknown = false;

  // What has been seen since.
  bool answered = false;      // the GPU, in a reading
  bool driver_asked = false;  // a recovery action other than none
  // The session in which it last asked for a reset, or called one required.
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
// Whether only a reset of the GPU ends it.
bool recovery_action_is_reset(unsigned action);

}  // namespace tranche::core
