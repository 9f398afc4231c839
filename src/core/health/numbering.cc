// SPDX-License-Identifier: Apache-2.0
#include "core/health/numbering.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <utility>

namespace tranche::core {
namespace {

template <typename Predicate>
GpuNumbers::iterator find_slot(GpuNumbers& numbers, Predicate matches) {
  return std::ranges::find_if(numbers, [&](const auto& entry) { return matches(entry.second); });
}

unsigned lowest_free(const std::function<bool(unsigned)>& is_free) {
  unsigned number = 0;
  while (!is_free(number)) ++number;
  return number;
}

GpuNumbers::iterator slot_of(GpuNumbers& numbers, const Gpu& gpu,
                             const std::set<PciAddress>& occupied) {
  const auto at_address =
      find_slot(numbers, [&](const NumberedSlot& slot) { return slot.pci == gpu.pci; });
  if (at_address != numbers.end()) return at_address;
  const auto of_card = find_slot(numbers, [&](const NumberedSlot& slot) {
    return slot.uuid == gpu.uuid && !occupied.contains(slot.pci);
  });
  if (of_card != numbers.end()) return of_card;
  const auto is_free = [&](unsigned number) { return !numbers.contains(number); };
  const unsigned number = is_free(gpu.index) ? gpu.index : lowest_free(is_free);
  return numbers.try_emplace(number).first;
}

// Gives numbers to GPUs, each number to one.
class Assignment {
 public:
  Assignment(const GpuNumbers& numbers, const std::vector<Gpu>& gpus)
      : numbers_(numbers), gpus_(gpus), assigned_(gpus.size()) {}

  template <typename Matches>
  void give_bound(Matches matches) {
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      if (assigned_[i]) continue;
      for (const auto& [number, slot] : numbers_) {
        if (!matches(gpus_[i], slot) || !taken_.insert(number).second) continue;
        assigned_[i] = number;
        break;
      }
    }
  }

  std::vector<unsigned> finish() {
    const auto is_free = [&](unsigned number) {
      return !numbers_.contains(number) && !taken_.contains(number);
    };
    std::vector<unsigned> result;
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      const unsigned counted = gpus_[i].driver_index.value_or(gpus_[i].index);
      const unsigned free = is_free(counted) ? counted : lowest_free(is_free);
      result.push_back(assigned_[i].value_or(free));
      taken_.insert(result.back());
    }
    return result;
  }

 private:
  const GpuNumbers& numbers_;
  const std::vector<Gpu>& gpus_;
  std::vector<std::optional<unsigned>> assigned_;
  std::set<unsigned> taken_;
};

}  // namespace

GpuNumbers with_gpus(GpuNumbers numbers, const std::vector<Gpu>& gpus) {
  std::set<PciAddress> occupied;
  for (const Gpu& gpu : gpus) {
    if (gpu.pci) occupied.insert(*gpu.pci);
  }
  for (const Gpu& gpu : gpus) {
    if (!gpu.pci) continue;
    const auto mine = slot_of(numbers, gpu, occupied);
    // A card is in one slot, so only its current number may move with it.
    for (auto& [number, slot] : numbers) {
      if (number != mine->first && slot.uuid == gpu.uuid) slot.uuid = {};
    }
    NumberedSlot& slot = mine->second;
    slot.pci = *gpu.pci;
    if (slot.uuid != gpu.uuid || !gpu.model.empty()) slot.model = gpu.model;
    slot.uuid = gpu.uuid;
  }
  return numbers;
}

GpuNumbers with_reading(GpuNumbers numbers, const DriverReading& reading) {
  if (reading.kind != DriverKind::kNvml) return numbers;
  std::vector<Gpu> gpus;
  for (const GpuReading& one : reading.gpus) {
    if (one.gpu) gpus.push_back(*one.gpu);
  }
  return with_gpus(std::move(numbers), gpus);
}

std::vector<unsigned> numbers_of(const GpuNumbers& numbers, const std::vector<Gpu>& gpus) {
  Assignment assignment(numbers, gpus);
  // The card that was seen last in a slot takes precedence over one that was there earlier
  // and is lost.
  assignment.give_bound([](const Gpu& gpu, const NumberedSlot& slot) {
    return gpu.pci == slot.pci && gpu.uuid == slot.uuid;
  });
  assignment.give_bound(
      [](const Gpu& gpu, const NumberedSlot& slot) { return gpu.pci == slot.pci; });
  assignment.give_bound(
      [](const Gpu& gpu, const NumberedSlot& slot) { return gpu.uuid == slot.uuid; });
  return assignment.finish();
}

std::vector<NumberChange> changes_between(const GpuNumbers& before, const GpuNumbers& after) {
  std::vector<NumberChange> changes;
  for (const auto& [number, slot] : before) {
    if (!after.contains(number)) {
      changes.push_back({false, "gpu number forgotten", number, slot, slot.model});
    }
  }
  for (const auto& [number, slot] : after) {
    const auto known = before.find(number);
    if (known == before.end()) {
      changes.push_back({false, "gpu number bound to a PCI address", number, slot, slot.model});
    } else if (known->second.pci != slot.pci) {
      changes.push_back({true, "gpu is at another PCI address; its number follows it", number, slot,
                         "was at " + to_string(known->second.pci)});
    } else if (known->second.uuid != slot.uuid && !slot.uuid.empty()) {
      const std::string& earlier = known->second.uuid.text;
      changes.push_back({true,
                         "another gpu is in the slot; it takes the slot's number, and the old gpu "
                         "is no longer listed",
                         number, slot, earlier.empty() ? "" : "was " + earlier});
    }
  }
  return changes;
}

}  // namespace tranche::core
