// SPDX-License-Identifier: Apache-2.0
#include "core/health/xid_table.h"

#include <algorithm>

#include "base/text.h"

namespace tranche::core {

// NOLINTNEXTLINE(readability-function-size): a table
const std::vector<XidFacts>& xid_table() {
  using enum Clearance;
  // Sorted by number. one_slice is set where an application's fault is the cause: the
  // hardware keeps those within a MIG device. 171 and 172 give details of a 48, and the
  // action that follows is that of the 48.
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
      {46, 46, "GPU timeout", kReset, false},
      {48, 48, "uncorrectable memory error", kRecovery, false, 565},
      {54, 54, "auxiliary power is not connected", kReboot, false},
      {57, 58, "memory link error", kReboot, false},
      {59, 59, "power unit error", kReset, false},
      {60, 60, "video engine exception", kProbe, true},
      {61, 61, "power unit error", kReset, false},
      {62, 62, "power unit halted", kRecovery, false, 565},
      {63, 63, "a row remap or page retirement was recorded", kRepair, false},
      {64, 64, "a row remap or page retirement could not be recorded", kSound, false, 565},
      {65, 65, "video engine exception", kProbe, true},
      {66, 67, "illegal access by the driver", kProbe, false},
      {68, 68, "video decoder exception", kProbe, true},
      {69, 69, "graphics engine error", kProbe, true},
      {70, 73, "copy or video engine error", kProbe, true},
      {74, 74, "NVLink error", kLinks, false, 565},
      {75, 77, "copy engine error", kProbe, true},
      {78, 78, "a virtual GPU could not start", kProbe, false},
      {79, 79, "the GPU fell off the bus", kReset, false},
      {80, 80, "command buffer checksum mismatch", kProbe, true},
      {82, 86, "video or copy engine error", kProbe, true},
      {87, 87, "message", kProbe, false},
      {88, 89, "video decoder error", kProbe, true},
      {92, 93, "memory wear message", kProbe, false},
      {94, 94, "contained memory error", kProbe, true},
      {95, 95, "uncontained memory error", kRecovery, false, 565},
      {96, 105, "video engine error", kProbe, true},
      {106, 108, "test message", kProbe, false},
      {109, 109, "context switch timeout", kRecovery, false, 570},
      {110, 110, "security fault", kRecovery, false, 565},
      {119, 119, "the GPU's firmware does not answer", kReset, false},
      {120, 120, "error in the GPU's firmware", kRecovery, false, 565},
      {121, 121, "corrected chip-to-chip link error", kProbe, false},
      {122, 124, "access to the card's flash memory failed", kReboot, false},
      {125, 125, "error in the card's own file system", kInforom, false},
      {126, 135, "copy engine error", kProbe, true},
      {136, 136, "NVLink training failed", kLinks, false, 565},
      {137, 137, "an application's NVLink fault", kProbe, true},
      {139, 139, "optical flow engine error", kProbe, true},
      {140, 140, "uncorrected memory error", kReset, false},
      {141, 142, "message about an application", kProbe, true},
      {143, 143, "GPU initialisation error", kRecovery, false, 575},
      {144, 149, "NVLink error", kLinks, false, 565},
      {150, 150, "NVLink watchdog", kRecovery, false, 565},
      {151, 151, "key rotation failed", kReboot, false},
      {152, 153, "accelerator error", kProbe, false},
      {154, 154, "the recovery action changed", kRecovery, false, 565},
      {155, 155, "NVLink down", kLinkUp, false},
      {156, 156, "a hardware resource is to be retired", kRetirement, false},
      {157, 157, "a hardware resource could not be retired", kProbe, false},
      {158, 158, "GPU fatal timeout", kRecovery, false, 565},
      {159, 159, "chip-to-chip link error", kReset, false},
      {160, 165, "message about retirement or power", kProbe, false},
      {166, 166, "NVLink encryption error", kReset, false},
      {167, 167, "PCIe fatal timeout", kReboot, false},
      {168, 168, "reduced memory capacity", kProbe, false},
      {169, 169, "security processor halted", kReset, false},
      {170, 170, "NVLink encryption error", kReset, false},
      {171, 172, "uncorrectable memory error", kRecovery, false, 565},
      {173, 173, "chip-to-chip link failed", kReboot, false},
  };
  return table;
}

XidFacts xid_facts(unsigned xid) {
  const auto& table = xid_table();
  const auto found = std::ranges::find_if(
      table, [&](const XidFacts& row) { return row.first <= xid && xid <= row.last; });
  if (found != table.end()) return *found;
  return {xid, xid, "not in the catalogue", Clearance::kReset, false};
}

bool action_tells(const XidFacts& facts, std::string_view driver_version) {
  const auto branch = parse_number<unsigned>(driver_version.substr(0, driver_version.find('.')));
  return facts.action_since != 0 && branch && *branch >= facts.action_since;
}

}  // namespace tranche::core
