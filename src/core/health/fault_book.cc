// SPDX-License-Identifier: Apache-2.0
#include "core/health/fault_book.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/health/clearing.h"

namespace tranche::core {
namespace {

constexpr std::int64_t kFlappingWindowSeconds = 3600;

std::size_t recoveries_lately(const NodeState& state, const GpuUuid& gpu, std::int64_t now) {
  const auto known = state.recoveries.find(gpu);
  if (known == state.recoveries.end()) return 0;
  return static_cast<std::size_t>(std::ranges::count_if(
      known->second, [&](std::int64_t when) { return when > now - kFlappingWindowSeconds; }));
}

std::optional<std::uint64_t> binding_of(const NodeState& state, const GpuUuid& uuid,
                                        const Surroundings& around) {
  const Gpu* gpu = find_gpu(state.inventory, uuid);
  return gpu == nullptr || !gpu->pci ? std::nullopt : around.driver_binding(*gpu->pci);
}

FaultKind kind_of(FailureKind failure) {
  switch (failure) {
    case FailureKind::kLost: return FaultKind::kLost;
    case FailureKind::kNeedsReset: return FaultKind::kNeedsReset;
    case FailureKind::kHung: return FaultKind::kHung;
    case FailureKind::kOther: return FaultKind::kNoAnswer;
  }
  return FaultKind::kNoAnswer;
}

// Counters that this reading does not have keep their last value: the next one of the
// session that has them is compared with it. Those of an earlier session are dropped,
// because it is not known whether they fell between the sessions.
Vitals merged(Vitals last, const Vitals& now, bool same_session) {
  if (!same_session) {
    last.uncorrected_ecc.reset();
    last.energy_mj.reset();
    last.pcie_replays.reset();
  }
  const auto take = [](auto& place, const auto& value) {
    if (value) place = value;
  };
  take(last.recovery_action, now.recovery_action);
  take(last.uncorrected_ecc, now.uncorrected_ecc);
  take(last.energy_mj, now.energy_mj);
  take(last.pcie_replays, now.pcie_replays);
  take(last.repair_pending, now.repair_pending);
  take(last.remap_failed, now.remap_failed);
  take(last.fabric_ready, now.fabric_ready);
  take(last.links, now.links);
  take(last.inforom_valid, now.inforom_valid);
  take(last.persistence, now.persistence);
  take(last.units_pending, now.units_pending);
  return last;
}

void note_conditions(NodeState& state, const GpuUuid& gpu, const GpuReading& one,
                     const Surroundings& around) {
  Fault fault{.gpu = gpu, .clearance = Clearance::kCondition};
  if (const auto action = one.vitals.recovery_action;
      action && !recovery_action_allows_use(*action)) {
    fault.kind = FaultKind::kRecoveryAction;
    fault.text = "the driver asks for: " + recovery_action_text(*action);
    open_fault(state, fault, around);
  }
  if (!one.vitals.fabric_ready.value_or(true)) {
    fault.kind = FaultKind::kFabric;
    fault.text = "the NVLink fabric is not ready; is the fabric manager running?";
    open_fault(state, fault, around);
  }
  if (!one.unwatched.empty()) {
    fault.kind = FaultKind::kUnwatched;
    fault.text = "its events cannot be watched: " + one.unwatched;
    open_fault(state, fault, around);
  }
}

void note_reset(Fault& fault, std::string_view shown_by) {
  if (!fault.reset_seen) fault.reset_shown_by = shown_by;
  fault.reset_seen = true;
}

// Records the driver's recovery action since the fault. If the driver asked for a reset, or
// reported one as required, and no longer does in a later session, the GPU was reset.
void note_recovery_action(Fault& fault, const std::optional<unsigned>& action,
                          std::uint64_t session) {
  const bool asks = action && !recovery_action_allows_use(*action);
  fault.driver_asked = fault.driver_asked || asks;
  if (asks && recovery_action_is_reset(*action)) fault.reset_asked = session;
  if (!asks && fault.reset_asked && *fault.reset_asked < session) {
    note_reset(fault, "the driver asked for one and does not any more");
  }
}

// Whether a counter that fell since the reading before did so after the fault. Later
// answers are compared with the first answer in the session of the fault, because not every
// poll reads every counter, and the previous reading may be old. A GPU that does not answer
// in that session, such as one off the bus, is compared with the readings from before the
// fault.
bool is_after(const Fault& fault, std::uint64_t session) {
  return fault.answered || session > fault.session;
}

void weigh_faults(NodeState& state, const GpuUuid& gpu, const Evidence& evidence,
                  std::int64_t now) {
  bool recovered = false;
  for (Fault& fault : state.faults) {
    if (fault.gpu != gpu) continue;
    fault.passed = clears(fault, evidence) ? fault.passed + 1 : 0;
  }
  std::erase_if(state.faults, [&](const Fault& fault) {
    const bool cleared = fault.gpu == gpu && fault.passed >= fault.needed;
    recovered = recovered || cleared;
    if (cleared) {
      state.ended.push_back(
          {fault.slice ? fault.slice->text : gpu.text, fault.text, why_cleared(fault, evidence)});
    }
    return cleared;
  });
  if (!recovered || std::ranges::count(state.faults, gpu, &Fault::gpu) > 0) return;
  std::vector<std::int64_t>& lately = state.recoveries[gpu];
  std::erase_if(lately, [&](std::int64_t when) { return when <= now - kFlappingWindowSeconds; });
  lately.push_back(now);
}

}  // namespace

void open_fault(NodeState& state, Fault fault, const Surroundings& around) {
  fault.boot_id = around.boot_id;
  fault.session = state.session;
  fault.order_unknown = around.order_unknown;
  fault.binding = binding_of(state, fault.gpu, around);
  if (const auto up = state.links_seen_up.find(fault.gpu); up != state.links_seen_up.end()) {
    fault.links = up->second;
  }
  const auto same = std::ranges::find_if(state.faults, [&](const Fault& other) {
    return std::tie(other.gpu, other.slice, other.kind, other.xid) ==
           std::tie(fault.gpu, fault.slice, fault.kind, fault.xid);
  });
  if (same == state.faults.end()) {
    fault.needed =
        readings_needed(fault.clearance, recoveries_lately(state, fault.gpu, around.now));
    state.faults.push_back(std::move(fault));
    return;
  }
  same->text = std::move(fault.text);
  same->passed = 0;
  same->session = fault.session;  // only a later session can show its end
  if (fault.kind != FaultKind::kXid) return;
  // It happened again: earlier evidence no longer counts.
  same->boot_id = fault.boot_id;
  same->binding = fault.binding;
  same->order_unknown = fault.order_unknown;
  same->links.merge(fault.links);
  same->action_tells = fault.action_tells;
  same->driver_asked = false;
  same->reset_asked.reset();
  same->reset_seen = false;
  same->reset_shown_by.clear();
  same->answered = false;
}

void fold_answer(NodeState& state, const GpuUuid& gpu, const GpuReading& one,
                 const Surroundings& around) {
  Vitals& last = state.vitals[gpu];
  const auto read_in = state.vitals_session.find(gpu);
  const bool same_session =
      read_in != state.vitals_session.end() && read_in->second == state.session;
  const std::string_view fallen = fallen_counter(last, one.vitals, same_session);
  last = merged(last, one.vitals, same_session);
  state.vitals_session[gpu] = state.session;
  if (one.vitals.links) {
    state.links_seen_up[gpu].insert(one.vitals.links->up.begin(), one.vitals.links->up.end());
  }
  for (Fault& fault : state.faults) {
    if (fault.gpu != gpu) continue;
    if (!fault.order_unknown) {
      if (state.driver_was_unloaded) {
        note_reset(fault, "the driver's kernel module was loaded again");
      }
      if (!fallen.empty() && is_after(fault, state.session)) note_reset(fault, fallen);
    }
    fault.order_unknown = false;
    fault.answered = true;
    note_recovery_action(fault, one.vitals.recovery_action, state.session);
  }
  note_conditions(state, gpu, one, around);
  if (std::ranges::count(state.faults, gpu, &Fault::gpu) == 0) return;
  Evidence evidence{.vitals = one.vitals,
                    .boot_id = around.boot_id,
                    .session = state.session,
                    .unwatched = !one.unwatched.empty(),
                    .binding = binding_of(state, gpu, around)};
  // It is permanent, even while MIG devices hide it.
  evidence.vitals.remap_failed = last.remap_failed;
  weigh_faults(state, gpu, evidence, around.now);
}

void fold_failure(NodeState& state, const GpuUuid& gpu, const GpuFailure& failure,
                  const Surroundings& around) {
  for (Fault& fault : state.faults) {
    if (fault.gpu != gpu) continue;
    fault.passed = 0;
    if (failure.kind == FailureKind::kNeedsReset) fault.reset_asked = state.session;
  }
  open_fault(state,
             {.gpu = gpu,
              .kind = kind_of(failure.kind),
              .text = failure.what,
              .clearance = Clearance::kCondition},
             around);
}

}  // namespace tranche::core
