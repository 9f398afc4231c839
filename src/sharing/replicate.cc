// SPDX-License-Identifier: Apache-2.0
#include "sharing/replicate.h"

#include <algorithm>
#include <iterator>

namespace tranche {
namespace {

bool refers_to(const DeviceRef& ref, const OfferedDevice& device) {
  struct Matches {
    const OfferedDevice& device;
    bool operator()(const GpuIndex& wanted) const {
      return !device.is_mig() && device.gpu_index == wanted.index;
    }
    bool operator()(const MigIndex& wanted) const {
      return device.mig_index == wanted.mig && device.gpu_index == wanted.gpu;
    }
    bool operator()(const AnyUuid& wanted) const { return device.uuid == wanted.text; }
  };
  return std::visit(Matches{device}, ref);
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

class Selector {
 public:
  explicit Selector(const DeviceSelection& selection) : selection_(selection) {}

  bool takes(const OfferedDevice& device) {
    if (std::holds_alternative<AllDevices>(selection_)) return true;
    if (const auto* first = std::get_if<FirstDevices>(&selection_)) return taken_++ < first->count;
    const auto& refs = std::get<std::vector<DeviceRef>>(selection_);
    return std::ranges::any_of(refs, [&](const DeviceRef& ref) { return refers_to(ref, device); });
  }

 private:
  const DeviceSelection& selection_;
  unsigned taken_ = 0;
};

void note_missing(const Replication& row, const std::vector<OfferedDevice>& devices,
                  std::vector<std::string>& notes) {
  const std::string where = "sharing.timeSlicing of " + row.resource.text + ": ";
  if (const auto* first = std::get_if<FirstDevices>(&row.devices);
      first != nullptr && first->count > devices.size()) {
    notes.push_back(where + std::to_string(first->count) + " devices are to be shared and " +
                    std::to_string(devices.size()) + " are there");
  }
  const auto* refs = std::get_if<std::vector<DeviceRef>>(&row.devices);
  if (refs == nullptr) return;
  for (const DeviceRef& ref : *refs) {
    const bool is_there = std::ranges::any_of(
        devices, [&](const OfferedDevice& device) { return refers_to(ref, device); });
    if (!is_there) notes.push_back(where + "device " + to_string(ref) + " is not there");
  }
}

}  // namespace

void replicate(DevicesByName& offers, const std::vector<Replication>& rows,
               std::vector<std::string>& notes) {
  // Rows speak of the resources as they were before any of them: a device that
  // a row moved under a new name is not shared again by a later one.
  DevicesByName shared;
  for (const Replication& row : rows) {
    const auto found = offers.find(row.resource);
    if (found == offers.end()) {
      notes.push_back("sharing.timeSlicing names " + row.resource.text +
                      ", which this node does not have");
      continue;
    }
    note_missing(row, found->second, notes);
    Selector selector(row.devices);
    std::vector<OfferedDevice> kept;
    for (OfferedDevice& device : found->second) {
      if (selector.takes(device)) {
        device.replicas = row.replicas;
        shared[row.rename.value_or(row.resource)].push_back(std::move(device));
      } else {
        kept.push_back(std::move(device));
      }
    }
    found->second = std::move(kept);
  }
  for (auto& [name, devices] : shared) std::ranges::move(devices, std::back_inserter(offers[name]));
}

}  // namespace tranche
