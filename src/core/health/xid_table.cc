// SPDX-License-Identifier: Apache-2.0
#include "inventory/xid_table.h"

#include <algorithm>

namespace tranche {

// NOLINTNEXTLINE(readability-function-size): a table
const std::vector<XidFacts>& xid_table() {
  using enum Clearance;
  // Sorted by number. one_slice is set where an application's fault is the
  // cause: the hardware keeps those within a MIG device.
  static const std::vector<XidFacts> table{
      {8, 8, "the GPU stopped processing", kProbe, true},
      {11, 11, "illegal command buffer", kProbe, true},
      {13, 13, "an application's engine exception", kProbe, true},
      {14, 14, "an injected test error", kProbe, true},
      {25, 25, "illegal command buffer", kProbe, true},
      {31, 31, "an application's memory page fault", kProbe, true},
      {32, 32, "corrupted command buffer", kProbe, true},
      {37, 38, "firmware message", kProbe, false},
      {39, 41, "copy engine error", kProbe, true},
      {43, 43, "an application's fault, its channel was reset", kProbe, true},
      {44, 44, "engine fault during a context switch", kProbe, false},
      {45, 45, "an application's channel was removed", kProbe, true},
      {46, 46, "GPU timeout", kRecovery, false},
      {48, 48, "uncorrectable memory error", kRecovery, false},
      {54, 54, "auxiliary power is not connected", kReboot, false},
      {57, 58, "memory link error", kReboot, false},
      {59, 59, "power unit error", kReset, false},
      {60, 60, "video engine exception", kProbe, true},
      {61, 61, "power unit error", kReset, false},
      {62, 62, "power unit halted", kRecovery, false},
      {63, 63, "a row remap or page retirement was recorded", kRepair, false},
      {64, 64, "a row remap or page retirement could not be recorded", kSound, false},
      {65, 65, "video engine exception", kProbe, true},
      {66, 67, "illegal access by the driver", kProbe, false},
      {68, 68, "video decoder exception", kProbe, true},
      {69, 69, "graphics engine error", kProbe, true},
      {70, 73, "copy or video engine error", kProbe, true},
      {74, 74, "NVLink error", kLinks, false},
      {75, 77, "copy engine error", kProbe, true},
      {79, 79, "the GPU fell off the bus", kReset, false},
      {80, 80, "command buffer checksum mismatch", kProbe, true},
      {82, 86, "video or copy engine error", kProbe, true},
      {88, 89, "video decoder error", kProbe, true},
      {92, 93, "memory wear message", kProbe, false},
      {94, 94, "contained memory error", kProbe, true},
      {95, 95, "uncontained memory error", kRecovery, false},
      {96, 105, "video engine error", kProbe, true},
      {109, 109, "context switch timeout", kRecovery, false},
      {110, 110, "security fault", kRecovery, false},
      {119, 119, "the GPU's firmware does not answer", kReset, false},
      {120, 120, "error in the GPU's firmware", kRecovery, false},
      {121, 121, "corrected chip-to-chip link error", kProbe, false},
      {122, 124, "access to the card's flash memory failed", kReboot, false},
      {125, 125, "error in the card's own file system", kInforom, false},
      {126, 135, "copy engine error", kProbe, true},
      {136, 136, "NVLink training failed", kLinks, false},
      {137, 137, "an application's NVLink fault", kProbe, true},
      {139, 139, "optical flow engine error", kProbe, true},
      {140, 140, "uncorrected memory error", kReset, false},
      {141, 142, "message about an application", kProbe, true},
      {143, 143, "GPU initialisation error", kRecovery, false},
      {144, 149, "NVLink error", kLinks, false},
      {150, 150, "NVLink watchdog", kRecovery, false},
      {151, 151, "key rotation failed", kReboot, false},
      {152, 153, "accelerator error", kProbe, false},
      {154, 154, "the recovery action changed", kRecovery, false},
      {155, 155, "NVLink down", kLinks, false},
      {156, 156, "a hardware resource was retired", kRepair, false},
      {157, 157, "a hardware resource could not be retired", kProbe, false},
      {158, 158, "GPU fatal timeout", kRecovery, false},
      {159, 159, "chip-to-chip link error", kRecovery, false},
      {160, 165, "message about retirement or power", kProbe, false},
      {166, 166, "NVLink encryption error", kRecovery, false},
      {167, 167, "PCIe fatal timeout", kReboot, false},
      {168, 168, "reduced memory capacity", kProbe, false},
      {169, 169, "security processor halted", kRecovery, false},
      {170, 170, "NVLink encryption error", kRecovery, false},
      {171, 172, "uncorrectable memory error", kRecovery, false},
      {173, 173, "chip-to-chip link failed", kReboot, false},
  };
  return table;
}

XidFacts xid_facts(unsigned xid) {
  const auto& table = xid_table();
  const auto found = std::ranges::find_if(
      table, [&](const XidFacts& row) { return row.first <= xid && xid <= row.last; });
  if (found != table.end()) return *found;
  return {xid, xid, "not in the catalogue", Clearance::kRecovery, false};
}

}  // namespace tranche
