// SPDX-License-Identifier: Apache-2.0
#include "inventory/node_state.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "inventory/clearing.h"
#include "inventory/numbering.h"
#include "inventory/pci_slots.h"
#include "inventory/xid_table.h"

namespace tranche {
namespace {

constexpr std::int64_t kFlappingWindowSeconds = 3600;

std::size_t recoveries_lately(const NodeState& state, const GpuUuid& gpu, std::int64_t now) {
  const auto known = state.recoveries.find(gpu);
  if (known == state.recoveries.end()) return 0;
  return static_cast<std::size_t>(std::ranges::count_if(
      known->second, [&](std::int64_t when) { return when > now - kFlappingWindowSeconds; }));
}

// Opens a fault, or brings the text of one that is open already up to date.
void open_fault(NodeState& state, Fault fault, const Surroundings& around) {
  fault.boot_id = around.boot_id;
  fault.session = state.session;
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
  same->session = fault.session;  // this one has seen it too: only a younger one can see the end
  if (fault.kind != FaultKind::kXid) return;
  // It happened again: what was seen before proves nothing any more.
  same->boot_id = fault.boot_id;
  same->driver_asked = false;
  same->reset_seen = false;
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

Gpu* find(NodeState& state, const GpuUuid& uuid) {
  const auto found = std::ranges::find(state.inventory.gpus, uuid, &Gpu::uuid);
  return found == state.inventory.gpus.end() ? nullptr : &*found;
}

// Counters that this reading does not have keep their last value: the next one
// that has them is compared with it.
Vitals merged(Vitals last, const Vitals& now) {
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
  take(last.links_down, now.links_down);
  take(last.inforom_valid, now.inforom_valid);
  return last;
}

// Who a reading is of: the GPU it names, or the known one that stood at that
// index of the driver and is named by no other reading. One that the driver listed
// last time goes before one that had the index earlier.
std::optional<GpuUuid> identify(const NodeState& state, const DriverReading& reading,
                                const GpuReading& one) {
  if (one.gpu) return one.gpu->uuid;
  std::optional<GpuUuid> earlier;
  for (const Gpu& known : state.inventory.gpus) {
    const bool named = std::ranges::any_of(reading.gpus, [&](const GpuReading& other) {
      return other.gpu && other.gpu->uuid == known.uuid;
    });
    if (named) continue;
    if (known.driver_index == one.index) return known.uuid;
    if (!known.driver_index && known.index == one.index && !earlier) earlier = known.uuid;
  }
  return earlier;
}

void keep_driver_indexes(NodeState& state, const std::map<GpuUuid, unsigned>& listed) {
  for (Gpu& gpu : state.inventory.gpus) {
    const auto index = listed.find(gpu.uuid);
    gpu.driver_index = index == listed.end() ? std::nullopt : std::optional(index->second);
  }
}

void learn(NodeState& state, Gpu gpu) {
  gpu.health = {};
  if (Gpu* known = find(state, gpu.uuid)) {
    *known = std::move(gpu);
  } else {
    state.inventory.gpus.push_back(std::move(gpu));
  }
}

// A slice that is no longer there takes its faults along.
void drop_faults_of_gone_slices(NodeState& state, const Gpu& gpu) {
  std::erase_if(state.faults, [&](const Fault& fault) {
    return fault.gpu == gpu.uuid && fault.slice &&
           std::ranges::find(gpu.mig, *fault.slice, &MigDevice::uuid) == gpu.mig.end();
  });
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
    return cleared;
  });
  if (!recovered || std::ranges::count(state.faults, gpu, &Fault::gpu) > 0) return;
  std::vector<std::int64_t>& lately = state.recoveries[gpu];
  std::erase_if(lately, [&](std::int64_t when) { return when <= now - kFlappingWindowSeconds; });
  lately.push_back(now);
}

void fold_answer(NodeState& state, const GpuUuid& gpu, const GpuReading& one,
                 const Surroundings& around) {
  Vitals& last = state.vitals[gpu];
  const bool reset = shows_reset(last, one.vitals) || state.driver_was_unloaded;
  const bool asks =
      one.vitals.recovery_action && !recovery_action_allows_use(*one.vitals.recovery_action);
  last = merged(last, one.vitals);
  for (Fault& fault : state.faults) {
    if (fault.gpu != gpu) continue;
    fault.reset_seen = fault.reset_seen || reset;
    fault.driver_asked = fault.driver_asked || asks;
  }
  note_conditions(state, gpu, one, around);
  weigh_faults(state, gpu, {one.vitals, around.boot_id, state.session, !one.unwatched.empty()},
               around.now);
}

void fold_failure(NodeState& state, const GpuUuid& gpu, const GpuFailure& failure,
                  const Surroundings& around) {
  for (Fault& fault : state.faults) {
    if (fault.gpu == gpu) fault.passed = 0;
  }
  open_fault(state,
             {.gpu = gpu,
              .kind = kind_of(failure.kind),
              .text = failure.what,
              .clearance = Clearance::kCondition},
             around);
}

void forget(NodeState& state, const GpuUuid& gpu) {
  std::erase_if(state.inventory.gpus, [&](const Gpu& other) { return other.uuid == gpu; });
  std::erase_if(state.faults, [&](const Fault& fault) { return fault.gpu == gpu; });
  state.vitals.erase(gpu);
  state.recoveries.erase(gpu);
}

// Before anything is read by index: a GPU that is not in the machine any more
// must not get the failure of the one that has its index now.
void forget_removed(NodeState& state, const DriverReading& reading, const Surroundings& around) {
  std::set<GpuUuid> removed;
  for (const Replacement& each : replaced_gpus(state, reading)) removed.insert(each.gpu);
  for (const Gpu& gpu : state.inventory.gpus) {
    if (state.named.contains(gpu.uuid) || !gpu.pci) continue;
    const bool taken_out = around.has_pci_device(*gpu.pci) == std::optional<bool>(false);
    if (taken_out) removed.insert(gpu.uuid);
  }
  for (const GpuUuid& gpu : removed) forget(state, gpu);
}

void fold_vanished_gpus(NodeState& state, const std::set<GpuUuid>& seen,
                        const Surroundings& around) {
  std::vector<GpuUuid> vanished;
  for (const Gpu& gpu : state.inventory.gpus) {
    if (!seen.contains(gpu.uuid)) vanished.push_back(gpu.uuid);
  }
  // The kernel still has the card, or does not say: it is lost and stays listed.
  for (const GpuUuid& gpu : vanished) {
    fold_failure(state, gpu, {FailureKind::kLost, "the driver no longer lists the GPU"}, around);
  }
}

void forget_unseen(NodeState& state, const std::set<GpuUuid>& seen) {
  std::vector<GpuUuid> unseen;
  for (const Gpu& gpu : state.inventory.gpus) {
    if (!seen.contains(gpu.uuid)) unseen.push_back(gpu.uuid);
  }
  for (const GpuUuid& gpu : unseen) forget(state, gpu);
}

std::vector<std::optional<MigUuid>> slices_hit(const Gpu& gpu, const DriverEvent& event) {
  std::vector<std::optional<MigUuid>> hit;
  if (!event.gpu_instance || !xid_facts(event.xid).one_slice) return {std::nullopt};
  for (const MigDevice& mig : gpu.mig) {
    if (mig.gpu_instance == *event.gpu_instance &&
        (!event.compute_instance || mig.compute_instance == *event.compute_instance)) {
      hit.emplace_back(mig.uuid);
    }
  }
  if (hit.empty()) return {std::nullopt};
  return hit;
}

}  // namespace

NodeState with_reading(NodeState state, const DriverReading& reading, const Surroundings& around) {
  state.session = reading.session;
  state.inventory.driver = reading.kind;
  state.inventory.driver_trouble.clear();
  state.inventory.driver_version = reading.driver_version;
  state.inventory.cuda_version = reading.cuda_version;
  state.inventory.limits_memory = reading.limits_memory;
  state.inventory.topology = reading.topology;

  state.inventory.numbers = with_reading(std::move(state.inventory.numbers), reading);

  state.has_stranger = false;
  state.named = named_gpus(reading);
  forget_removed(state, reading, around);
  std::set<GpuUuid> seen;
  std::map<GpuUuid, unsigned> listed;
  for (const GpuReading& one : reading.gpus) {
    const std::optional<GpuUuid> gpu = identify(state, reading, one);
    if (!gpu) {  // it never said who it is: there is no id to list it under
      state.has_stranger = true;
      continue;
    }
    seen.insert(*gpu);
    listed[*gpu] = one.index;
    if (one.gpu) {
      learn(state, *one.gpu);
      drop_faults_of_gone_slices(state, *one.gpu);
    }
    if (one.failure) {
      fold_failure(state, *gpu, *one.failure, around);
    } else {
      fold_answer(state, *gpu, one, around);
    }
  }
  // Another kind of source may know the same GPUs by other ids: those that
  // only the former one knew are not lost, they have other names now.
  const bool other_source = state.seen_by != DriverKind::kNone && state.seen_by != reading.kind;
  if (other_source) forget_unseen(state, seen);
  fold_vanished_gpus(state, seen, around);
  keep_driver_indexes(state, listed);
  state.seen_by = reading.kind;
  std::ranges::sort(state.inventory.gpus, {},
                    [](const Gpu& gpu) { return std::pair(gpu.index, gpu.uuid); });
  state.driver_was_unloaded = false;
  return state;
}

NodeState with_event(NodeState state, const DriverEvent& event, const XidPolicy& policy,
                     const Surroundings& around) {
  if (event.kind != DriverEvent::Kind::kXid || !policy.counts(event.xid)) return state;
  const XidFacts facts = xid_facts(event.xid);
  const std::vector<Gpu> gpus = state.inventory.gpus;
  for (const Gpu& gpu : gpus) {
    // An error of a GPU that we cannot tell may be any one's.
    if (event.gpu && *event.gpu != gpu.uuid) continue;
    for (const std::optional<MigUuid>& slice : slices_hit(gpu, event)) {
      open_fault(state,
                 {.gpu = gpu.uuid,
                  .slice = slice,
                  .kind = FaultKind::kXid,
                  .xid = event.xid,
                  .text = "XID " + std::to_string(event.xid) + ": " + std::string(facts.meaning),
                  .clearance = facts.clearance},
                 around);
    }
  }
  return state;
}

NodeState with_driver_trouble(NodeState state, std::string trouble, bool unloaded) {
  state.inventory.driver = DriverKind::kNone;
  state.inventory.driver_trouble = std::move(trouble);
  state.driver_was_unloaded = state.driver_was_unloaded || unloaded;
  return state;
}

NodeState with_release(NodeState state, const std::vector<GpuUuid>& gpus, bool kernel_log_tells) {
  state.driver_released = true;
  for (const Gpu& gpu : state.inventory.gpus) {
    if (gpus.empty() || std::ranges::find(gpus, gpu.uuid) != gpus.end()) {
      state.released[gpu.uuid] = "let go of on request, until it is taken up again";
    } else if (!kernel_log_tells) {
      state.released.try_emplace(
          gpu.uuid,
          "not watched: the driver is let go of on request, and the kernel's "
          "log cannot be read");
    }
  }
  return state;
}

NodeState with_forgotten_numbers(NodeState state, const std::set<unsigned>& numbers) {
  for (const unsigned number : numbers) state.inventory.numbers.erase(number);
  return state;
}

NodeState with_resume(NodeState state) {
  state.released.clear();
  state.driver_released = false;
  return state;
}

Inventory present(const NodeState& state) {
  Inventory inventory = state.inventory;
  const std::vector<unsigned> numbers = numbers_of(inventory.numbers, inventory.gpus);
  for (std::size_t i = 0; i < numbers.size(); ++i) inventory.gpus[i].index = numbers[i];
  std::ranges::sort(inventory.gpus, {}, &Gpu::index);
  for (Gpu& gpu : inventory.gpus) {
    gpu.health = {};
    gpu.lost = false;
    for (MigDevice& mig : gpu.mig) mig.health = {};
    if (const auto released = state.released.find(gpu.uuid); released != state.released.end()) {
      gpu.health.troubles.push_back(released->second);
    }
    if (!inventory.driver_trouble.empty()) {
      gpu.health.troubles.push_back("driver: " + inventory.driver_trouble);
    }
    for (const Fault& fault : state.faults) {
      if (fault.gpu != gpu.uuid) continue;
      if (!fault.slice) gpu.health.troubles.push_back(fault.text);
      if (fault.kind == FaultKind::kLost) gpu.lost = true;
      for (MigDevice& mig : gpu.mig) {
        if (fault.slice == mig.uuid) mig.health.troubles.push_back(fault.text);
      }
    }
  }
  return inventory;
}

ReadWish wish_for(const NodeState& state) {
  const auto waits_for = [&](Clearance clearance) {
    return std::ranges::count(state.faults, clearance, &Fault::clearance) > 0;
  };
  const auto waits_for_reset = [](const Fault& fault) {
    const bool ends_with_reset =
        fault.clearance == Clearance::kRecovery || fault.clearance == Clearance::kReset ||
        fault.clearance == Clearance::kRepair || fault.clearance == Clearance::kSound ||
        fault.clearance == Clearance::kLinks;
    return ends_with_reset && !fault.reset_seen;
  };
  return {.energy = std::ranges::any_of(state.faults, waits_for_reset),
          .links = waits_for(Clearance::kLinks),
          .inforom = waits_for(Clearance::kInforom)};
}

bool wants_fresh_session(const NodeState& state) {
  if (state.has_stranger) return true;
  return std::ranges::any_of(state.faults, [&](const Fault& fault) {
    if (fault.session != state.session) return false;
    switch (fault.clearance) {
      case Clearance::kRecovery:
      case Clearance::kSound:
      case Clearance::kLinks: return !fault.driver_asked;
      case Clearance::kCondition:
        return fault.kind == FaultKind::kLost || fault.kind == FaultKind::kNeedsReset;
      default: return false;
    }
  });
}

}  // namespace tranche
