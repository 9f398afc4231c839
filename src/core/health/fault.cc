// SPDX-License-Identifier: Apache-2.0
#include "core/health/fault.h"

#include <fmt/core.h>

#include <array>
#include <utility>

namespace tranche::core {
namespace {

constexpr std::array kClearances{
    std::pair{Clearance::kProbe, "probe"},        std::pair{Clearance::kRecovery, "recovery"},
    std::pair{Clearance::kReset, "reset"},        std::pair{Clearance::kReboot, "reboot"},
    std::pair{Clearance::kRepair, "repair"},      std::pair{Clearance::kRetirement, "retirement"},
    std::pair{Clearance::kSound, "sound"},        std::pair{Clearance::kLinks, "links"},
    std::pair{Clearance::kLinkUp, "link-up"},     std::pair{Clearance::kInforom, "inforom"},
    std::pair{Clearance::kCondition, "condition"}};

constexpr std::array kKinds{std::pair{FaultKind::kXid, "xid"},
                            std::pair{FaultKind::kLost, "lost"},
                            std::pair{FaultKind::kNeedsReset, "needs-reset"},
                            std::pair{FaultKind::kHung, "hung"},
                            std::pair{FaultKind::kNoAnswer, "no-answer"},
                            std::pair{FaultKind::kRecoveryAction, "recovery-action"},
                            std::pair{FaultKind::kFabric, "fabric"},
                            std::pair{FaultKind::kUnwatched, "unwatched"}};

template <typename Pairs, typename Value>
std::string_view name_of(const Pairs& pairs, Value value) {
  for (const auto& [candidate, name] : pairs) {
    if (candidate == value) return name;
  }
  return "?";
}

template <typename Value, typename Pairs>
std::optional<Value> value_of(const Pairs& pairs, std::string_view text) {
  for (const auto& [candidate, name] : pairs) {
    if (name == text) return candidate;
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_string(Clearance clearance) { return name_of(kClearances, clearance); }
std::optional<Clearance> parse_clearance(std::string_view text) {
  return value_of<Clearance>(kClearances, text);
}
std::string_view to_string(FaultKind kind) { return name_of(kKinds, kind); }
std::optional<FaultKind> parse_fault_kind(std::string_view text) {
  return value_of<FaultKind>(kKinds, text);
}

std::string recovery_action_text(unsigned action) {
  switch (action) {
    case 0: return "none";
    case 1: return "GPU reset";
    case 2: return "node reboot";
    case 3: return "drain peer-to-peer work";
    case 4: return "drain and reset";
    case 5: return "recover the IMEX domain";
    case 6: return "bus reset";
    case 7: return "system reboot";
    default: return fmt::format("unknown action {}", action);
  }
}

bool recovery_action_allows_use(unsigned action) {
  // Recovering an IMEX domain concerns other nodes; the GPU itself is fine.
  return action == 0 || action == 5;
}

bool recovery_action_is_reset(unsigned action) {
  // GPU reset, drain and reset, bus reset.
  return action == 1 || action == 4 || action == 6;
}

}  // namespace tranche::core
