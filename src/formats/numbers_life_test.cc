// SPDX-License-Identifier: Apache-2.0
//
// A random life of GPU numbers: cards fall off the bus, come back, are swapped, moved, plugged
// and unplugged; the driver is reopened, the agent restarts. A separate oracle says which number
// each slot has.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>

#include "core/gpu/testing/literals.h"
#include "core/health/node_state.h"
#include "core/sharing/offer.h"
#include "formats/fault_memory_json.h"
#include "formats/gpu_numbers_json.h"

namespace tranche::formats {
namespace {

constexpr unsigned kSlots = 8;
constexpr unsigned kStepsOfALife = 40;
constexpr unsigned kLives = 40;
constexpr unsigned kExcluded = 3;

using Random = std::mt19937;

PciAddress address(unsigned slot) { return *a_gpu(slot).pci; }

struct Card {
  unsigned id = 0;
  bool is_off_bus = false;
};

// The machine: which card is in which slot, and what the driver's session lists.
class Machine {
 public:
  explicit Machine(Random& random) : random_(random) {
    for (unsigned slot = 0; slot < kSlots / 2 + random_() % 3; ++slot) slots_[slot] = new_card();
    open_session();
  }

  void open_session() {
    ++session_;
    listed_.clear();
    for (const auto& [slot, card] : slots_) {
      if (!card.is_off_bus) listed_.emplace_back(slot, card.id);
    }
  }

  // Something happens to a slot; says what.
  std::string happen() {
    const unsigned slot = random_() % kSlots;
    const auto here = slots_.find(slot);
    const std::string where = " slot " + std::to_string(slot);
    if (here == slots_.end()) {
      const bool is_spare = !spares_.empty() && random_() % 2 == 0;
      slots_[slot] = is_spare ? Card{take_spare()} : new_card();
      return (is_spare ? "a spare card into" : "a new card into") + where;
    }
    switch (random_() % 4) {
      case 0: here->second.is_off_bus = true; return "off the bus:" + where;
      case 1: here->second.is_off_bus = false; return "back on the bus:" + where;
      case 2:
        spares_.insert(here->second.id);
        slots_.erase(here);
        return "unplugged:" + where;
      default:
        spares_.insert(here->second.id);
        here->second = new_card();
        return "another card in" + where;
    }
  }

  // The driver's list in its order. A card that left since the session began fails and does not
  // report its identity; a `failing` one does so temporarily.
  DriverReading read(std::optional<unsigned> failing = std::nullopt) const {
    DriverReading reading{.kind = DriverKind::kNvml, .session = session_};
    for (const auto& [slot, id] : listed_) {
      const auto index = static_cast<unsigned>(reading.gpus.size());
      GpuReading one{.index = index};
      const auto here = slots_.find(slot);
      if (here != slots_.end() && here->second.id == id && !here->second.is_off_bus &&
          failing != index) {
        one.gpu = a_gpu(id);
        one.gpu->pci = address(slot);
        one.gpu->index = index;
      } else {
        one.failure = GpuFailure{FailureKind::kLost, "GPU is lost"};
      }
      reading.gpus.push_back(std::move(one));
    }
    return reading;
  }

  Surroundings surroundings() const {
    return {.boot_id = "b", .has_pci_device = [this](const PciAddress& pci) {
              return std::ranges::any_of(
                  slots_, [&](const auto& entry) { return address(entry.first) == pci; });
            }};
  }

 private:
  Card new_card() { return {next_card_++}; }
  unsigned take_spare() {
    const auto spare =
        std::next(spares_.begin(), static_cast<std::ptrdiff_t>(random_() % spares_.size()));
    const unsigned id = *spare;
    spares_.erase(spare);
    return id;
  }

  Random& random_;
  std::map<unsigned, Card> slots_;
  std::set<unsigned> spares_;
  std::vector<std::pair<unsigned, unsigned>> listed_;  // slot, card
  unsigned next_card_ = 100;
  std::uint64_t session_ = 0;
};

// Which number each slot must have.
class Oracle {
 public:
  void see(const DriverReading& reading) {
    std::set<PciAddress> occupied;
    for (const GpuReading& one : reading.gpus) {
      if (one.gpu) occupied.insert(*one.gpu->pci);
    }
    for (const GpuReading& one : reading.gpus) {
      if (one.gpu) see(*one.gpu, occupied);
    }
  }

  void forget(unsigned number) {
    std::erase_if(number_of_, [&](const auto& entry) { return entry.second == number; });
  }

  std::optional<unsigned> number_at(const PciAddress& pci) const {
    const auto known = number_of_.find(pci);
    return known == number_of_.end() ? std::nullopt : std::optional(known->second);
  }
  std::size_t size() const { return number_of_.size(); }

 private:
  void see(const Gpu& gpu, const std::set<PciAddress>& occupied) {
    const auto last = last_place_.find(gpu.uuid);
    if (!number_of_.contains(*gpu.pci)) {
      const bool moved = last != last_place_.end() && number_of_.contains(last->second) &&
                         last_card_[last->second] == gpu.uuid && !occupied.contains(last->second);
      const unsigned number = moved ? number_of_.at(last->second) : free_number(gpu.index);
      if (moved) number_of_.erase(last->second);
      number_of_[*gpu.pci] = number;
    }
    last_place_[gpu.uuid] = *gpu.pci;
    last_card_[*gpu.pci] = gpu.uuid;
  }

  unsigned free_number(unsigned wanted) const {
    std::set<unsigned> taken;
    for (const auto& [pci, number] : number_of_) taken.insert(number);
    if (!taken.contains(wanted)) return wanted;
    unsigned number = 0;
    while (taken.contains(number)) ++number;
    return number;
  }

  std::map<PciAddress, unsigned> number_of_;
  std::map<GpuUuid, PciAddress> last_place_;
  std::map<PciAddress, GpuUuid> last_card_;
};

// Like the agent: faults and numbers through their files.
NodeState restarted(const NodeState& state) {
  NodeState next = *parse_fault_memory(to_fault_memory(state));
  next.inventory.numbers = *parse_gpu_numbers(to_json(state.inventory.numbers));
  return next;
}

bool is_offered(const Catalog& catalog, const GpuUuid& gpu) {
  return std::ranges::any_of(catalog.offers, [&](const Offer& offer) {
    return std::ranges::any_of(offer.devices,
                               [&](const OfferedDevice& device) { return device.gpu == gpu; });
  });
}

void check(const NodeState& state, const Oracle& oracle) {
  const Inventory inventory = present(state);
  const Catalog catalog = offer(inventory, {.excluded = {GpuIndex{kExcluded}}});
  std::set<unsigned> numbers;
  for (const Gpu& gpu : inventory.gpus) {
    EXPECT_TRUE(numbers.insert(gpu.index).second) << "two GPUs have number " << gpu.index;
    // A GPU with a forgotten number has none until it answers again.
    if (!gpu.driver_index || !oracle.number_at(*gpu.pci)) continue;
    EXPECT_EQ(gpu.index, oracle.number_at(*gpu.pci)) << "the number of " << to_string(*gpu.pci);
    EXPECT_EQ(is_offered(catalog, gpu.uuid), oracle.number_at(*gpu.pci) != kExcluded)
        << gpu.uuid.text << " at " << to_string(*gpu.pci);
  }
  EXPECT_EQ(inventory.numbers.size(), oracle.size());
  for (const auto& [number, slot] : inventory.numbers) {
    EXPECT_EQ(number, oracle.number_at(slot.pci)) << "the number of " << to_string(slot.pci);
  }
}

void live(unsigned seed) {
  Random random(seed);
  Machine machine(random);
  Oracle oracle;
  NodeState state;
  std::string story;
  const auto look = [&](std::optional<unsigned> failing = std::nullopt) {
    const DriverReading reading = machine.read(failing);
    state = with_reading(std::move(state), reading, machine.surroundings());
    oracle.see(reading);
  };
  look();
  for (unsigned step = 0; step < kStepsOfALife && !testing::Test::HasFailure(); ++step) {
    switch (random() % 8) {
      case 0:
        machine.open_session();
        look();
        story += "\n  driver reopened";
        break;
      case 1:
        state = restarted(state);
        machine.open_session();
        look();
        story += "\n  agent restarted";
        break;
      case 2:
        state = with_driver_trouble(std::move(state), "not loaded", false);
        story += "\n  driver away";
        break;
      case 3: look(static_cast<unsigned>(random() % kSlots)); break;
      case 4:
        if (random() % 8 != 0) break;
        state = with_forgotten_numbers(std::move(state), {step % kSlots});
        oracle.forget(step % kSlots);
        look();
        story += "\n  forgotten: " + std::to_string(step % kSlots);
        break;
      default: story += "\n  " + machine.happen(); look();
    }
    SCOPED_TRACE("seed " + std::to_string(seed) + ", step " + std::to_string(step) + story);
    check(state, oracle);
  }
}

TEST(RandomLife, KeepsTheNumberOfEverySlotAndOffersNoExcludedOne) {
  for (unsigned seed = 0; seed < kLives && !testing::Test::HasFailure(); ++seed) live(seed);
}

}  // namespace
}  // namespace tranche::formats
