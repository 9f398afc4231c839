// SPDX-License-Identifier: Apache-2.0
#include "os/settings/effective.h"

#include <utility>

#include "base/text.h"

namespace tranche::os {
namespace {

ConfigNode list_node(const Option& flag, const std::vector<std::string>& words) {
  ConfigNode list{.kind = NodeKind::kList};
  const bool numbers = flag.type == ValueType::kNumberList;
  for (const std::string& word : words) {
    list.items.push_back(numbers ? bare_node(word) : text_node(word));
  }
  return list;
}

}  // namespace

ConfigNode text_node(const std::string& text) {
  return {.kind = NodeKind::kScalar, .text = text, .quoted = true};
}
ConfigNode bare_node(const std::string& text) { return {.kind = NodeKind::kScalar, .text = text}; }

ConfigNode truth_node(bool truth) { return bare_node(truth ? "true" : "false"); }

void put(ConfigNode& map, std::string_view key, ConfigNode value) {
  map.keys.push_back({std::string(key), 0});
  map.items.push_back(std::move(value));
}

ConfigNode& section_at(ConfigNode& root, std::string_view path) {
  ConfigNode* section = &root;
  if (path.empty()) return *section;
  for (const std::string& name : split(path, '.')) {
    if (find_item(*section, name) == nullptr) put(*section, name, {.kind = NodeKind::kMap});
    const auto position = find_item(*section, name) - section->items.data();
    section = &section->items[static_cast<std::size_t>(position)];
  }
  return *section;
}

ConfigNode value_node(const Option& flag, const Value& value) {
  if (const auto* words = std::get_if<std::vector<std::string>>(&value)) {
    return list_node(flag, *words);
  }
  const bool bare = flag.type == ValueType::kBool || flag.type == ValueType::kNumber;
  return bare ? bare_node(show(value)) : text_node(show(value));
}

std::vector<Provenance> provenance_of(const Resolved& resolved) {
  std::vector<Provenance> all;
  for (const Setting& setting : resolved.all()) {
    all.push_back({std::string(setting.flag->title()), std::string(setting.flag->key),
                   setting.value, setting.origin});
  }
  return all;
}

std::vector<Provenance> outside_the_file(const Effective& effective) {
  std::vector<Provenance> found;
  for (const Provenance& setting : effective.provenance) {
    const Option* flag = find_option(effective.options, setting.setting);
    const bool idle = flag != nullptr && flag->group == kWithoutEffect &&
                      setting.origin.kind == OriginKind::kDefault;
    if (setting.key.empty() && !idle) found.push_back(setting);
  }
  return found;
}

}  // namespace tranche::os
