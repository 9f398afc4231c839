// SPDX-License-Identifier: Apache-2.0
#include "demo/show.h"

#include "base/text.h"

namespace tranche::demo {

std::vector<Labelled> grant_lines(const standin::ContainerResponse& response) {
  std::vector<Labelled> lines;
  for (const auto& [name, value] : response.envs) lines.push_back({"env", name + "=" + value});
  std::vector<std::string> nodes;
  for (const standin::DeviceNode& node : response.devices) nodes.push_back(node.host_path);
  if (!nodes.empty()) lines.push_back({"nodes", join(nodes, " ")});
  for (const standin::Mount& mount : response.mounts) {
    lines.push_back({"mount", mount.host_path + " at " + mount.container_path +
                                  (mount.read_only ? " (read-only)" : "")});
  }
  for (const auto& [name, value] : response.annotations) {
    lines.push_back({"note", name + "=" + value});
  }
  for (const std::string& name : response.cdi_devices) lines.push_back({"CDI", name});
  return lines;
}

std::string count_line(const std::string& resource, const standin::ResourceView& view) {
  return resource + ": " + std::to_string(view.allocatable) + " of " +
         std::to_string(view.capacity) + " allocatable, " + std::to_string(view.allocated.size()) +
         " in use";
}

std::vector<std::string> changed_counts(const standin::NodeView& before,
                                        const standin::NodeView& now) {
  std::vector<std::string> lines;
  for (const auto& [resource, view] : now.resources) {
    const auto old = before.resources.find(resource);
    std::string line = count_line(resource, view);
    if (old != before.resources.end() && count_line(resource, old->second) == line) continue;
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace tranche::demo
