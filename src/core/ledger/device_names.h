// SPDX-License-Identifier: Apache-2.0
//
// Which device the id of a share names. It may be another plugin's id, which may contain a
// device node or have a suffix behind the uuid. Pure.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/sharing/catalog.h"

namespace tranche::core {

// Points into the id and into the DeviceNames.
struct NamedDevice {
  std::string_view uuid;
  bool is_known = false;  // exactly: the id is of a device that the node has
  std::optional<unsigned> replica;
};

class DeviceNames {
 public:
  explicit DeviceNames(const Catalog& catalog);

  // Empty: not the id of a GPU or MIG device.
  std::optional<NamedDevice> device_of(std::string_view id) const;
  // Of the GPU that a device is, or is a part of; empty: the node has no such device.
  std::string_view gpu_of(std::string_view device) const;

 private:
  std::string_view uuid_of(std::string_view device) const;
  std::string_view known_prefix_of(std::string_view id, std::string_view otherwise) const;

  std::map<std::string, std::string, std::less<>> gpu_of_node_;
  std::map<std::string, std::string, std::less<>> gpu_of_slice_;
  std::set<std::string, std::less<>> known_;  // uuids of devices, offered or not
};

}  // namespace tranche::core
