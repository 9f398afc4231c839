// SPDX-License-Identifier: Apache-2.0
#include "core/ledger/device_names.h"

#include <cctype>

#include "core/sharing/share_id.h"

namespace tranche::core {

DeviceNames::DeviceNames(const Catalog& catalog)
    : gpu_of_node_(catalog.gpu_of_node.begin(), catalog.gpu_of_node.end()),
      gpu_of_slice_(catalog.gpu_of_slice.begin(), catalog.gpu_of_slice.end()) {
  for (const auto& [slice, gpu] : catalog.gpu_of_slice) known_.insert({slice, gpu});
  for (const auto& [node, gpu] : catalog.gpu_of_node) known_.insert(gpu);
  for (const Offer& offer : catalog.offers) {
    for (const OfferedDevice& device : offer.devices) {
      known_.insert({device.uuid, device.gpu.text});
      if (device.uuid != device.gpu.text) gpu_of_slice_.emplace(device.uuid, device.gpu.text);
    }
  }
}

std::optional<NamedDevice> DeviceNames::device_of(std::string_view id) const {
  const auto parsed = parse_any_share_id(id);
  std::string_view uuid = parsed ? uuid_of(parsed->device) : std::string_view();
  const bool is_known = known_.contains(uuid);
  if (!is_known) uuid = known_prefix_of(id, uuid);
  if (uuid.empty()) return std::nullopt;
  return NamedDevice{uuid, is_known, parsed ? parsed->replica : std::nullopt};
}

std::string_view DeviceNames::gpu_of(std::string_view device) const {
  const auto slice = gpu_of_slice_.find(device);
  if (slice != gpu_of_slice_.end()) return slice->second;
  const auto known = known_.find(device);
  return known == known_.end() ? std::string_view() : std::string_view(*known);
}

// "nvidia3", or a part of it: "nvidia3/vgpu1".
std::string_view DeviceNames::uuid_of(std::string_view device) const {
  const auto gpu = gpu_of_node_.find(device.substr(0, device.find('/')));
  return gpu == gpu_of_node_.end() ? device : std::string_view(gpu->second);
}

// Another plugin may put anything behind a uuid: "GPU-8f1c…__3", "GPU-8f1c…-0". `otherwise`
// where it is no known device.
std::string_view DeviceNames::known_prefix_of(std::string_view id,
                                              std::string_view otherwise) const {
  for (const std::string& uuid : known_) {
    if (!id.starts_with(uuid) || id.size() == uuid.size()) continue;
    if (std::isxdigit(static_cast<unsigned char>(id[uuid.size()])) == 0) return uuid;
  }
  return otherwise;
}

}  // namespace tranche::core
