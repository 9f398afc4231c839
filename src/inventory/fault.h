// SPDX-License-Identifier: Apache-2.0
//
// A fault: what made a GPU unhealthy, and what must be seen before it counts
// as healthy again. Time alone clears nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gpu/gpu.h"
#include "inventory/gpu_source.h"

namespace tranche {

// What clears a fault. docs/health.md has the same as a table for people.
enum class Clearance {
  kProbe,      // the GPU answers and the driver asks for nothing
  kRecovery,   // the driver's recovery action is back at none; where the driver
               // has no such word: a reset or a reboot was seen
  kReset,      // a reset or a reboot was seen; the driver's word is not enough
  kReboot,     // the node was rebooted
  kRepair,     // no row remap or page retirement is pending any more
  kSound,      // as kRecovery, and no row remap has failed; else it is for replacement
  kLinks,      // as kRecovery, and every NVLink is up
  kInforom,    // the card's own memory validates
  kCondition,  // what was seen in a reading is no longer seen
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

  // When it was seen, to tell later evidence from what was there before.
  std::string boot_id;
  std::uint64_t session = 0;

  // What has been seen since.
  bool driver_asked = false;  // a recovery action other than none
  bool reset_seen = false;
  unsigned passed = 0;  // readings in a row that would clear it
  unsigned needed = 1;  // how many it takes; more for a GPU that flaps

  bool operator==(const Fault&) const = default;
};

// How the driver's number for a recovery action reads; unknown numbers say so.
std::string recovery_action_text(unsigned action);
// Whether a GPU may be used while the driver asks for it. What we do not know
// may not.
bool recovery_action_allows_use(unsigned action);

}  // namespace tranche
