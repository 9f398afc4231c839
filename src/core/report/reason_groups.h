// SPDX-License-Identifier: Apache-2.0
//
// Devices that are unhealthy for the same reason, in one sentence. Pure.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"

namespace tranche::core {

class ReasonGroups {
 public:
  void add(const std::string& device, const std::string& reason) {
    const auto known = std::ranges::find(groups_, reason, &Group::first);
    if (known != groups_.end()) return known->second.push_back(device);
    groups_.push_back({reason, {device}});
  }
  bool empty() const { return groups_.empty(); }

  // "GPU 0, GPU 2: XID 79; GPU 1: XID 48", by their first devices.
  std::string text() const {
    std::vector<std::string> texts;
    for (const auto& [reason, devices] : groups_) {
      texts.push_back(join(devices, ", ") + ": " + reason);
    }
    return join(texts, "; ");
  }

 private:
  using Group = std::pair<std::string, std::vector<std::string>>;
  std::vector<Group> groups_;
};

}  // namespace tranche::core
