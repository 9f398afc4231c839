// SPDX-License-Identifier: Apache-2.0
#include "core/cdi/cdi_spec.h"

#include <algorithm>
#include <functional>
#include <tuple>

namespace tranche::core {
namespace {

template <typename T>
void append(std::vector<T>& to, const std::vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

// Keeps the first of equal `key`s, in order.
template <typename T, typename Key>
void keep_first(std::vector<T>& items, Key key) {
  std::vector<T> kept;
  for (T& item : items) {
    const auto same = [&](const T& other) {
      return std::invoke(key, other) == std::invoke(key, item);
    };
    if (std::ranges::none_of(kept, same)) kept.push_back(std::move(item));
  }
  items = std::move(kept);
}

auto depth_and_path(const std::string& path) {
  return std::make_tuple(std::ranges::count(path, '/'), path);
}

bool starts_with_digit(const std::string& name) {
  return !name.empty() && name.front() >= '0' && name.front() <= '9';
}

bool has_host_path(const CdiEdits& edits) {
  return std::ranges::any_of(edits.nodes, [](const auto& node) { return !node.host_path.empty(); });
}

}  // namespace

bool CdiEdits::empty() const {
  return env.empty() && nodes.empty() && hooks.empty() && mounts.empty() && additional_gids.empty();
}

std::string_view cdi_version(const CdiSpec& spec) {
  bool gids = !spec.common.additional_gids.empty();
  bool host_paths_or_digits = has_host_path(spec.common);
  for (const CdiDevice& device : spec.devices) {
    gids = gids || !device.edits.additional_gids.empty();
    host_paths_or_digits =
        host_paths_or_digits || has_host_path(device.edits) || starts_with_digit(device.name);
  }
  if (gids) return "0.7.0";
  return host_paths_or_digits ? "0.5.0" : "0.3.0";
}

CdiEdits normalised(CdiEdits edits) {
  keep_first(edits.env, std::identity{});
  keep_first(edits.hooks, std::identity{});
  keep_first(edits.nodes, &CdiDeviceNode::path);
  keep_first(edits.mounts, &CdiMount::container_path);
  std::ranges::sort(edits.nodes, {}, [](const auto& node) { return depth_and_path(node.path); });
  std::ranges::sort(edits.mounts, {},
                    [](const auto& mount) { return depth_and_path(mount.container_path); });
  std::ranges::sort(edits.additional_gids);
  keep_first(edits.additional_gids, std::identity{});
  return edits;
}

CdiEdits merged(const std::vector<CdiEdits>& parts) {
  CdiEdits all;
  for (const CdiEdits& part : parts) {
    append(all.env, part.env);
    append(all.nodes, part.nodes);
    append(all.hooks, part.hooks);
    append(all.mounts, part.mounts);
    append(all.additional_gids, part.additional_gids);
  }
  return normalised(std::move(all));
}

}  // namespace tranche::core
