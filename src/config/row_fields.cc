// SPDX-License-Identifier: Apache-2.0
#include "config/row_fields.h"

#include <set>

#include "base/text.h"
#include "config/device_words.h"
#include "config/values.h"

namespace tranche {

std::optional<ResourceName> RowFields::read_name(const ConfigNode& node, const std::string& shown) {
  if (!is_text(node)) return std::nullopt;  // complained about already
  Result<ResourceName> name = parse_resource_name(node.text);
  if (name) return *name;
  problems_.add(node.line, shown, name.error().message);
  return std::nullopt;
}

std::optional<unsigned> RowFields::read_replicas(const ConfigNode& node, const std::string& shown) {
  if (!is_integer(node)) return std::nullopt;
  const auto count = parse_number<unsigned>(node.text);
  if (count && *count >= 1 && *count <= kMostReplicas) return count;
  const bool small = node.text.starts_with('-') || (count && *count == 0);
  problems_.add(node.line, shown,
                std::string(small ? "number of replicas must be >= 1"
                                  : "number of replicas must be at most 1000000") +
                    ", found " + brief(node.text));
  return std::nullopt;
}

std::optional<DeviceSelection> RowFields::read_devices(const ConfigNode* node,
                                                       const std::string& shown) {
  if (node == nullptr || (is_text(*node) && node->text == "all")) {
    return DeviceSelection(AllDevices{});
  }
  if (is_text(*node)) {
    problems_.add(
        node->line, shown,
        "devices set as '" + brief(node->text) + "' but the only valid string input is 'all'");
    return std::nullopt;
  }
  if (is_integer(*node)) {
    const auto count = parse_number<unsigned>(node->text);
    if (count && *count > 0) return DeviceSelection(FirstDevices{*count});
    problems_.add(node->line, shown,
                  "devices set as '" + brief(node->text) + "' but a count of devices must be > 0");
    return std::nullopt;
  }
  if (node->kind == NodeKind::kList) return read_device_list(*node, shown);
  problems_.add(node->line, shown,
                "unrecognized type for devices spec: expected all, a number or a list of "
                "devices, found " +
                    describe(*node));
  return std::nullopt;
}

std::optional<DeviceSelection> RowFields::read_device_list(const ConfigNode& list,
                                                           const std::string& shown) {
  std::vector<DeviceRef> devices;
  std::set<std::string> seen;
  if (list.items.empty()) {
    problems_.add(list.line, shown, "an empty list selects no device (leave it out for all)");
    return std::nullopt;
  }
  for (const ConfigNode& item : list.items) {
    const bool is_word = is_text(item) || is_integer(item);
    const Result<DeviceRef> device = parse_device_ref(is_word ? item.text : describe(item));
    if (!device) {
      problems_.add(item.line, shown, device.error().message);
      return std::nullopt;
    }
    if (!seen.insert(to_text(*device)).second) {
      problems_.add(item.line, shown, "lists " + to_text(*device) + " twice");
      return std::nullopt;
    }
    devices.push_back(*device);
  }
  return DeviceSelection(std::move(devices));
}

std::string row_name(const std::string& section, std::size_t index) {
  return section + "[" + std::to_string(index) + "]";
}

}  // namespace tranche
