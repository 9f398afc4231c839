// SPDX-License-Identifier: Apache-2.0
#include "demo/lines.h"

#include <regex>
#include <utility>

#include "base/text.h"

namespace tranche::demo {
namespace {

// "-xxxx-xxxx-xxxx-xxxxxxxxxxxx": what is left out of a uuid.
constexpr std::size_t kLeftOut = 28;
constexpr std::size_t kUuidColumn = 40;

}  // namespace

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  bool is_first = true;
  for (const std::string& word : split(text, ' ')) {
    std::string& line = lines.back();
    if (!is_first && width > 0 && line.size() + 1 + word.size() > width) {
      lines.push_back(word);
    } else {
      line += (is_first ? "" : " ") + word;
    }
    is_first = false;
  }
  return lines;
}

std::string shorten_uuids(const std::string& text) {
  const std::regex uuid("((GPU|MIG)-[0-9a-f]{8})(-[0-9a-f]{4}){3}-[0-9a-f]{12}");
  std::string shorter = std::regex_replace(text, uuid, "$1");
  const std::string heading = "UUID" + std::string(kUuidColumn - 4, ' ');
  if (const std::size_t place = shorter.find(heading); place != std::string::npos) {
    shorter.erase(place + 4, kLeftOut);
  }
  return shorter;
}

std::string_view without_time(std::string_view log_line) {
  const std::size_t space = log_line.find(' ');
  const bool has_time = space != std::string_view::npos && space >= 20 && log_line[10] == 'T' &&
                        log_line[space - 1] == 'Z';
  return has_time ? log_line.substr(space + 1) : log_line;
}

std::vector<Labelled> grant_lines(const standin::ContainerResponse& response) {
  std::vector<Labelled> lines;
  const auto add = [&](const char* who, std::string text) {
    lines.push_back({who, std::move(text)});
  };
  const auto assignment = [](const auto& entry) {
    std::string text = entry.first;
    return text.append("=").append(entry.second);
  };
  for (const auto& entry : response.envs) add("env", assignment(entry));
  std::string nodes;
  for (const standin::DeviceNode& node : response.devices) {
    nodes.append(nodes.empty() ? "" : " ").append(node.host_path);
  }
  if (!nodes.empty()) add("nodes", nodes);
  for (const standin::Mount& mount : response.mounts) {
    std::string text = mount.host_path;
    text.append(" at ").append(mount.container_path);
    add("mount", text.append(mount.read_only ? " (read-only)" : ""));
  }
  for (const auto& entry : response.annotations) add("note", assignment(entry));
  for (const std::string& name : response.cdi_devices) add("CDI", name);
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
