// SPDX-License-Identifier: Apache-2.0
#include "mps/report.h"

namespace tranche {

std::string_view to_string(MpsState state) {
  switch (state) {
    case MpsState::kStarting: return "starting";
    case MpsState::kReady: return "ready";
    case MpsState::kTrouble: return "in trouble";
    case MpsState::kStopping: return "stopping";
    case MpsState::kStopped: return "stopped";
  }
  return "";
}

std::string MpsDaemonStatus::problem() const {
  if (state == MpsState::kReady) return "";
  const std::string text = "the MPS daemon " + plan.name + " is " + std::string(to_string(state));
  return last_problem.empty() ? text : text + ": " + last_problem;
}

}  // namespace tranche
