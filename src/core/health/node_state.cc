// SPDX-License-Identifier: Apache-2.0
#include "core/health/node_state.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/health/fault_book.h"
#include "core/health/numbering.h"
#include "core/health/pci_slots.h"
#include "core/health/what_clears.h"
#include "core/health/xid_table.h"

namespace tranche::core {
namespace {

Gpu* find(NodeState& state, const GpuUuid& uuid) {
  const auto found = std::ranges::find(state.inventory.gpus, uuid, &Gpu::uuid);
  return found == state.inventory.gpus.end() ? nullptr : &*found;
}

// The GPU that a reading belongs to: the GPU it names, or the known GPU that had that index
// at the driver and that no other reading names. A GPU that the driver listed last time
// takes precedence over one that had the index earlier.
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

// A slice that no longer exists is removed with its faults.
void drop_faults_of_gone_slices(NodeState& state, const Gpu& gpu) {
  std::erase_if(state.faults, [&](const Fault& fault) {
    return fault.gpu == gpu.uuid && fault.slice &&
           std::ranges::find(gpu.mig, *fault.slice, &MigDevice::uuid) == gpu.mig.end();
  });
}

void forget(NodeState& state, const GpuUuid& gpu) {
  std::erase_if(state.inventory.gpus, [&](const Gpu& other) { return other.uuid == gpu; });
  std::erase_if(state.faults, [&](const Fault& fault) { return fault.gpu == gpu; });
  state.vitals.erase(gpu);
  state.vitals_session.erase(gpu);
  state.links_seen_up.erase(gpu);
  state.recoveries.erase(gpu);
}

// This comes before anything is read by index: a GPU that was removed must not get the
// failure of the GPU that has its index now.
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
  state.ended.clear();
  state.inventory.driver = reading.kind;
  state.inventory.driver_trouble.clear();
  state.inventory.driver_version = reading.driver_version;
  state.inventory.cuda_version = reading.cuda_version;
  state.inventory.limits_memory = reading.limits_memory;
  state.inventory.limits_unknown = reading.limits_unknown;
  state.inventory.topology = reading.topology;

  state.inventory.numbers = with_reading(std::move(state.inventory.numbers), reading);

  state.has_unidentified_gpu = false;
  state.named = named_gpus(reading);
  forget_removed(state, reading, around);
  std::set<GpuUuid> seen;
  std::map<GpuUuid, unsigned> listed;
  for (const GpuReading& one : reading.gpus) {
    const std::optional<GpuUuid> gpu = identify(state, reading, one);
    if (!gpu) {  // it never reported its identity, so there is no id to list it under
      state.has_unidentified_gpu = true;
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
  // Another kind of source may have other ids for the same GPUs: those that only the former
  // source had are not lost, they have other ids now.
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
    // An error of an unknown GPU may belong to any GPU.
    if (event.gpu && *event.gpu != gpu.uuid) continue;
    for (const std::optional<MigUuid>& slice : slices_hit(gpu, event)) {
      open_fault(state,
                 {.gpu = gpu.uuid,
                  .slice = slice,
                  .kind = FaultKind::kXid,
                  .xid = event.xid,
                  .text = fmt::format("XID {}: {}", event.xid, facts.meaning),
                  .clearance = facts.clearance,
                  .action_tells = action_tells(facts, state.inventory.driver_version)},
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
      if (std::ranges::find(state.inventory.released, gpu.uuid) == state.inventory.released.end()) {
        state.inventory.released.push_back(gpu.uuid);
      }
      state.released[gpu.uuid] = "released on request";
    } else if (!kernel_log_tells) {
      state.released.try_emplace(gpu.uuid,
                                 "not watched: the driver is closed by `release`, and the kernel's "
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
  state.inventory.released_at.reset();
  state.inventory.still_open.clear();
  state.inventory.released.clear();
  return state;
}

Inventory present(const NodeState& state) {
  Inventory inventory = state.inventory;
  const std::vector<unsigned> numbers = numbers_of(inventory.numbers, inventory.gpus);
  for (std::size_t i = 0; i < numbers.size(); ++i) inventory.gpus[i].index = numbers[i];
  std::ranges::sort(inventory.gpus, {}, &Gpu::index);
  inventory.remedies.clear();
  for (Gpu& gpu : inventory.gpus) {
    gpu.health = {};
    gpu.lost = false;
    for (MigDevice& mig : gpu.mig) mig.health = {};
    const auto ail = [&](const std::string& trouble, std::string remedy) {
      gpu.health.troubles.push_back(trouble);
      inventory.remedies.push_back({gpu.uuid.text, trouble, std::move(remedy)});
    };
    if (const auto released = state.released.find(gpu.uuid); released != state.released.end()) {
      ail(released->second, "`resume`");
    }
    if (!inventory.driver_trouble.empty()) {
      ail("driver: " + inventory.driver_trouble,
          "the driver can be read again; on the node: `nvidia-smi`, `dmesg | grep NVRM`");
    }
    for (const Fault& fault : state.faults) {
      if (fault.gpu != gpu.uuid) continue;
      if (!fault.slice) ail(fault.text, what_clears(fault));
      if (fault.kind == FaultKind::kLost) gpu.lost = true;
      for (MigDevice& mig : gpu.mig) {
        if (fault.slice != mig.uuid) continue;
        mig.health.troubles.push_back(fault.text);
        inventory.remedies.push_back({mig.uuid.text, fault.text, what_clears(fault)});
      }
    }
  }
  return inventory;
}

}  // namespace tranche::core
