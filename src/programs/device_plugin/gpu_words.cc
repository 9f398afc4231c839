// SPDX-License-Identifier: Apache-2.0
#include "programs/device_plugin/gpu_words.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace tranche::programs {
namespace {

Error invalid(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

std::string described(const Gpu& gpu) {
  return fmt::format("GPU {} (driver's index {}, {}, PCI address {})", gpu.index,
                     gpu.driver_index ? std::to_string(*gpu.driver_index) : "none", gpu.uuid.text,
                     gpu.pci ? to_string(*gpu.pci) : "not known");
}

template <typename Matches>
const Gpu* find(const Inventory& inventory, Matches matches) {
  const auto found = std::ranges::find_if(inventory.gpus, matches);
  return found == inventory.gpus.end() ? nullptr : &*found;
}

const Gpu* exactly_named(const std::string& word, const Inventory& inventory) {
  const auto pci = parse_pci_address(word);
  return find(inventory, [&](const Gpu& gpu) {
    return gpu.uuid.text == word || (pci && gpu.pci == pci) ||
           std::ranges::find(gpu.mig, MigUuid(word), &MigDevice::uuid) != gpu.mig.end();
  });
}

// The GPUs of which a uuid, or that of a MIG device, begins with the word.
std::vector<const Gpu*> begun_with(const std::string& word, const Inventory& inventory) {
  std::vector<const Gpu*> found;
  const bool is_uuid = word.starts_with("GPU-") || word.starts_with("MIG-");
  if (!is_uuid || word.size() <= std::string_view("GPU-").size()) return found;
  for (const Gpu& gpu : inventory.gpus) {
    const auto begins = [&](const auto& uuid) { return uuid.text.starts_with(word); };
    if (begins(gpu.uuid) || std::ranges::any_of(gpu.mig, begins, &MigDevice::uuid)) {
      found.push_back(&gpu);
    }
  }
  return found;
}

// The text for a slot that has a number and no GPU now; empty if the word names none.
std::string empty_slot(const std::string& word, const Inventory& inventory) {
  const auto pci = parse_pci_address(word);
  for (const auto& [number, slot] : inventory.numbers) {
    const bool is_meant = std::to_string(number) == word || (pci && slot.pci == pci) ||
                          (!word.empty() && slot.uuid.text == word);
    if (!is_meant) continue;
    std::string text = fmt::format("GPU {} is not there: its slot, PCI address {}, is empty now",
                                   number, to_string(slot.pci));
    if (!slot.uuid.empty()) {
      text += "; last seen there: " + slot.uuid.text;
      if (!slot.model.empty()) text += ", " + slot.model;
    }
    return text;
  }
  return {};
}

}  // namespace

std::string gpu_title(const Gpu& gpu) {
  return fmt::format("GPU {} ({}, PCI address {})", gpu.index, gpu.uuid.text,
                     gpu.pci ? to_string(*gpu.pci) : "not known");
}

// nvidia-smi uses the driver's indexes. If that index is another GPU than the one with this number,
// an operator could reset the wrong one.
Result<GpuUuid> gpu_named(const std::string& word, const Inventory& inventory) {
  if (const Gpu* gpu = exactly_named(word, inventory)) return gpu->uuid;
  const Gpu* numbered =
      find(inventory, [&](const Gpu& gpu) { return std::to_string(gpu.index) == word; });
  const Gpu* counted = find(inventory, [&](const Gpu& gpu) {
    return gpu.driver_index && std::to_string(*gpu.driver_index) == word;
  });
  if (counted != nullptr && counted != numbered) {
    return invalid("'" + word + "' can mean two GPUs: " +
                   (numbered != nullptr ? described(*numbered)
                                        : "the one with this number, which is not there,") +
                   " and, as the driver counts, " + described(*counted) +
                   "; name it by uuid or PCI address");
  }
  if (numbered != nullptr) return numbered->uuid;
  const std::vector<const Gpu*> begun = begun_with(word, inventory);
  if (begun.size() == 1) return begun.front()->uuid;
  if (begun.size() > 1) {
    std::vector<std::string> titles;
    for (const Gpu* gpu : begun) titles.push_back(gpu_title(*gpu));
    return invalid("'" + word + "' is the beginning of several uuids: " + join(titles, ", "));
  }
  if (const std::string empty = empty_slot(word, inventory); !empty.empty()) return invalid(empty);
  return invalid("there is no GPU '" + word + "'; name it by uuid, index or PCI address");
}

Result<std::vector<GpuUuid>> gpus_named(const std::vector<std::string>& words,
                                        const Inventory& inventory) {
  std::vector<GpuUuid> gpus;
  for (const std::string& word : words) {
    Result<GpuUuid> gpu = gpu_named(word, inventory);
    if (!gpu) return gpu.error();
    gpus.push_back(*std::move(gpu));
  }
  return gpus;
}

}  // namespace tranche::programs
