// SPDX-License-Identifier: Apache-2.0
#include "core/sharing/selection.h"

#include <fmt/core.h>

#include <algorithm>

namespace tranche::core {
namespace {

bool refers_to(const DeviceRef& ref, const OfferedDevice& device, SlicesByGpu slices) {
  struct Matches {
    const OfferedDevice& device;
    const bool slices;
    bool operator()(const GpuIndex& wanted) const {
      return (slices || !device.is_mig()) && device.gpu_index == wanted.index;
    }
    bool operator()(const MigIndex& wanted) const {
      return device.mig_index == wanted.mig && device.gpu_index == wanted.gpu;
    }
    bool operator()(const AnyUuid& wanted) const {
      return device.uuid == wanted.text || (slices && device.gpu.text == wanted.text);
    }
  };
  return std::visit(Matches{device, slices == SlicesByGpu::kYes}, ref);
}

// Why a device that an entry lists is not among the devices of the entry's resource.
std::string why_missing(const DeviceRef& ref, const Inventory& inventory) {
  const auto does_not_fit = [](const std::string& what, const Gpu& gpu) {
    return fmt::format(
        "{} is a {}, which the row does not fit: it is excluded, cut with MIG, or of another model "
        "or name",
        what, gpu.model);
  };
  struct Why {
    const Inventory& inventory;
    const decltype(does_not_fit)& misfit;
    std::string operator()(const GpuIndex& wanted) const {
      const auto gpu = std::ranges::find(inventory.gpus, wanted.index, &Gpu::index);
      if (gpu == inventory.gpus.end()) return no_such_index(wanted.index, inventory);
      return misfit(fmt::format("index {}", wanted.index), *gpu);
    }
    std::string operator()(const MigIndex& wanted) const {
      const std::string index = fmt::format("{}:{}", wanted.gpu, wanted.mig);
      const auto gpu = std::ranges::find(inventory.gpus, wanted.gpu, &Gpu::index);
      if (gpu == inventory.gpus.end()) {
        return fmt::format("no MIG device has index {}: {}", index,
                           no_such_index(wanted.gpu, inventory));
      }
      return fmt::format("no MIG device that the row fits has index {}; GPU {} has {} MIG devices",
                         index, wanted.gpu, gpu->mig.size());
    }
    std::string operator()(const AnyUuid& wanted) const {
      const Gpu* gpu = find_gpu(inventory, GpuUuid{wanted.text});
      if (gpu != nullptr) return misfit(wanted.text, *gpu);
      return "no device has uuid " + wanted.text;
    }
  };
  return std::visit(Why{inventory, does_not_fit}, ref);
}

}  // namespace

bool Selector::takes(const OfferedDevice& device) {
  if (std::holds_alternative<AllDevices>(selection_)) return true;
  if (const auto* first = std::get_if<FirstDevices>(&selection_)) return taken_++ < first->count;
  const auto& refs = std::get<std::vector<DeviceRef>>(selection_);
  return std::ranges::any_of(refs,
                             [&](const DeviceRef& ref) { return refers_to(ref, device, slices_); });
}

std::vector<std::string> missing(const DeviceSelection& selection,
                                 const std::vector<const OfferedDevice*>& devices,
                                 const Inventory& inventory, SlicesByGpu slices) {
  std::vector<std::string> sentences;
  if (const auto* first = std::get_if<FirstDevices>(&selection);
      first != nullptr && first->count > devices.size()) {
    sentences.push_back(
        fmt::format("devices: {0} selects the first {0} devices, and the row fits only {1} (to "
                    "select one by its index, write a list)",
                    first->count, devices.size()));
  }
  const auto* refs = std::get_if<std::vector<DeviceRef>>(&selection);
  if (refs == nullptr) return sentences;
  for (const DeviceRef& ref : *refs) {
    const bool is_there = std::ranges::any_of(
        devices, [&](const OfferedDevice* device) { return refers_to(ref, *device, slices); });
    if (!is_there) sentences.push_back(why_missing(ref, inventory));
  }
  return sentences;
}

std::string no_such_index(unsigned index, const Inventory& inventory) {
  const auto slot = inventory.numbers.find(index);
  if (slot == inventory.numbers.end()) return fmt::format("no GPU has index {}", index);
  return fmt::format("index {} is PCI address {}, where no GPU is now", index,
                     to_string(slot->second.pci));
}

}  // namespace tranche::core
