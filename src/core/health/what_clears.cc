// SPDX-License-Identifier: Apache-2.0
#include "core/health/what_clears.h"

namespace tranche::core {
namespace {

constexpr const char* kReset = "a reset of the GPU or a reboot of the node";

const char* what_ends(FaultKind condition) {
  switch (condition) {
    case FaultKind::kLost:
      return "the GPU answers again, after a reset or a reboot of the node; or the card is taken "
             "out or replaced";
    case FaultKind::kNeedsReset: return kReset;
    case FaultKind::kHung:
      return "the driver call returns; where it never does, a reboot of the node";
    case FaultKind::kNoAnswer: return "the GPU answers again";
    case FaultKind::kRecoveryAction:
      return "the driver's recovery action is done, and the driver reports none any more";
    case FaultKind::kFabric:
      return "the NVLink fabric is ready; the fabric manager must run for that";
    case FaultKind::kUnwatched: return "the driver's events for it can be watched again";
    case FaultKind::kXid: return "the GPU answers again";
  }
  return "a reboot of the node";
}

}  // namespace

std::string what_clears(const Fault& fault) {
  switch (fault.clearance) {
    case Clearance::kProbe:
      return "the GPU answers the next polls and the driver reports no recovery action; nothing to "
             "do";
    case Clearance::kRecovery:
      if (!fault.action_tells) return kReset;
      return "the driver reports no recovery action, as after a reset of the GPU or a reboot of "
             "the "
             "node";
    case Clearance::kReset: return kReset;
    case Clearance::kReboot: return "a reboot of the node";
    case Clearance::kRepair:
      return "no row remap or page retirement is pending any more, as after a reset of the GPU";
    case Clearance::kRetirement:
      return "no retirement of a channel or TPC is pending any more, as after a reset of the GPU";
    case Clearance::kSound:
      return "a reset of the GPU, where no row remap has failed; else the card has to be replaced";
    case Clearance::kLinks:
      return "a reset of the GPU or a reboot of the node, after which the NVLinks that "
             "were up before are up";
    case Clearance::kLinkUp: return "the NVLinks that were up before are up again";
    case Clearance::kInforom:
      return "the card's own memory (InfoROM) is valid; where it stays corrupt, the card has to be "
             "replaced";
    case Clearance::kCondition: return what_ends(fault.kind);
  }
  return "a reboot of the node";
}

}  // namespace tranche::core
