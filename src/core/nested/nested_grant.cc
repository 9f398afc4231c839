// SPDX-License-Identifier: Apache-2.0
#include "core/nested/nested_grant.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace tranche::core {

std::string grant_folder(std::string_view resource) {
  std::string name(resource);
  std::ranges::replace(name, '/', '_');
  return fmt::format("{}/{}", kGrantsFolder, name);
}

std::string gpu_env_line(const NestedGrant& grant) {
  std::vector<std::string> uuids;
  for (const NestedDevice& device : grant.devices) {
    if (device.health.ok()) uuids.push_back(device.uuid);
  }
  return join(uuids, ",") + "\n";
}

std::optional<NestedGrant> with_health(const NestedGrant& grant,
                                       const std::vector<Health>& health) {
  NestedGrant next = grant;
  for (std::size_t i = 0; i < next.devices.size() && i < health.size(); ++i) {
    next.devices[i].health = health[i];
  }
  if (next == grant) return std::nullopt;
  ++next.generation;
  return next;
}

}  // namespace tranche::core
