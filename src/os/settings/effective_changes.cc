// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "os/settings/effective.h"
#include "os/settings/values.h"

namespace tranche::os {
namespace {

using Names = std::span<const std::string_view>;

std::string name_of(const ConfigNode& row, std::size_t index, Names names) {
  for (const std::string_view key : names) {
    if (const ConfigNode* name = given_item(row, key)) return name->text;
  }
  return std::to_string(index);
}

bool has_rows(const ConfigNode& list) {
  return !list.items.empty() && list.items.front().kind == NodeKind::kMap;
}

std::string list_text(const ConfigNode& list) {
  std::string text;
  for (const ConfigNode& item : list.items) text += (text.empty() ? "" : ", ") + item.text;
  return fmt::format("[{}]", text);
}

std::string value_text(const ConfigNode& node) {
  if (node.kind == NodeKind::kList) return brief(list_text(node));
  return node.text.empty() ? "\"\"" : brief(node.text);
}

void add_values(const std::string& path, const ConfigNode& node, Names names,
                EffectiveValues& values);

void add_rows(const std::string& path, const ConfigNode& list, Names names,
              EffectiveValues& values) {
  std::map<std::string, unsigned> seen;
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    std::string name = name_of(list.items[i], i, names);
    if (const unsigned count = ++seen[name]; count > 1) name += fmt::format(" #{}", count);
    add_values(fmt::format("{}[{}]", path, brief(name)), list.items[i], names, values);
  }
}

void add_values(const std::string& path, const ConfigNode& node, Names names,
                EffectiveValues& values) {
  if (node.kind == NodeKind::kList && has_rows(node)) return add_rows(path, node, names, values);
  if (node.kind != NodeKind::kMap) {
    values[path] = value_text(node);
    return;
  }
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    const std::string dot = path.empty() ? "" : ".";
    add_values(path + dot + node.keys[i].text, node.items[i], names, values);
  }
}

}  // namespace

EffectiveValues effective_values(const Effective& effective,
                                 std::span<const std::string_view> row_names) {
  EffectiveValues values;
  add_values("", effective.tree, row_names, values);
  for (const Provenance& setting : outside_the_file(effective)) {
    const bool is_flag = find_option(effective.options, setting.setting) != nullptr;
    const std::string shown = brief(show(setting.value));
    values[(is_flag ? "--" : "") + setting.setting] = shown.empty() ? "\"\"" : shown;
  }
  return values;
}

std::vector<std::string> changes_between(const EffectiveValues& before,
                                         const EffectiveValues& after, std::size_t most) {
  std::map<std::string, std::string> changes;
  for (const auto& [key, value] : before) {
    const auto now = after.find(key);
    if (now == after.end()) {
      changes[key] = fmt::format("{}: was {}, removed", key, value);
    } else if (now->second != value) {
      changes[key] = fmt::format("{}: {} -> {}", key, value, now->second);
    }
  }
  for (const auto& [key, value] : after) {
    if (!before.contains(key)) changes[key] = fmt::format("{}: added, {}", key, value);
  }
  std::vector<std::string> lines;
  for (const auto& [key, line] : changes) {
    if (lines.size() == most) {
      lines.push_back(fmt::format("and {} more", changes.size() - most));
      break;
    }
    lines.push_back(line);
  }
  return lines;
}

}  // namespace tranche::os
