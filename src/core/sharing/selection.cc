// SPDX-License-Identifier: Apache-2.0
#include "sharing/selection.h"

#include <algorithm>

namespace tranche {
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

std::string to_string(const DeviceRef& ref) {
  struct Text {
    std::string operator()(const GpuIndex& wanted) const { return std::to_string(wanted.index); }
    std::string operator()(const MigIndex& wanted) const {
      return std::to_string(wanted.gpu) + ":" + std::to_string(wanted.mig);
    }
    std::string operator()(const AnyUuid& wanted) const { return wanted.text; }
  };
  return std::visit(Text{}, ref);
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
                                 SlicesByGpu slices) {
  std::vector<std::string> sentences;
  if (const auto* first = std::get_if<FirstDevices>(&selection);
      first != nullptr && first->count > devices.size()) {
    sentences.push_back(std::to_string(first->count) + " devices are to be shared and " +
                        std::to_string(devices.size()) + " are there");
  }
  const auto* refs = std::get_if<std::vector<DeviceRef>>(&selection);
  if (refs == nullptr) return sentences;
  for (const DeviceRef& ref : *refs) {
    const bool is_there = std::ranges::any_of(
        devices, [&](const OfferedDevice* device) { return refers_to(ref, *device, slices); });
    if (!is_there) sentences.push_back("device " + to_string(ref) + " is not there");
  }
  return sentences;
}

}  // namespace tranche
