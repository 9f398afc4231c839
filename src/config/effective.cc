// SPDX-License-Identifier: Apache-2.0
#include "config/effective.h"

#include <map>
#include <string>
#include <utility>

#include "base/text.h"
#include "config/device_words.h"
#include "config/flag_table.h"
#include "config/schema.h"

namespace tranche {
namespace {

ConfigNode text_node(const std::string& text) {
  return {.kind = NodeKind::kScalar, .text = text, .quoted = true};
}
// A boolean or a number.
ConfigNode bare_node(const std::string& text) { return {.kind = NodeKind::kScalar, .text = text}; }

void put(ConfigNode& map, const std::string& key, ConfigNode value) {
  map.keys.push_back({key, 0});
  map.items.push_back(std::move(value));
}

// The section below `root` with this path, made where it is not there yet.
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

ConfigNode list_node(const FlagSpec& flag, const std::vector<std::string>& words) {
  ConfigNode list{.kind = NodeKind::kList};
  const bool numbers = flag.type == ValueType::kNumberList;
  for (const std::string& word : words) {
    list.items.push_back(numbers ? bare_node(word) : text_node(word));
  }
  return list;
}

ConfigNode value_node(const FlagSpec& flag, const Value& value) {
  if (const auto* words = std::get_if<std::vector<std::string>>(&value)) {
    return list_node(flag, *words);
  }
  const bool bare = flag.type == ValueType::kBool || flag.type == ValueType::kNumber;
  return bare ? bare_node(show(value)) : text_node(show(value));
}

ConfigNode devices_node(const DeviceSelection& devices) {
  if (const auto* first = std::get_if<FirstDevices>(&devices)) {
    return bare_node(std::to_string(first->count));
  }
  const auto* listed = std::get_if<std::vector<DeviceRef>>(&devices);
  if (listed == nullptr) return text_node("all");
  ConfigNode list{.kind = NodeKind::kList};
  for (const DeviceRef& device : *listed) {
    const bool is_index = std::holds_alternative<GpuIndex>(device);
    list.items.push_back(is_index ? bare_node(to_text(device)) : text_node(to_text(device)));
  }
  return list;
}

class TreeMaker {
 public:
  explicit TreeMaker(const Loaded& loaded) : loaded_(loaded) {
    for (const Provenance& setting : loaded.provenance) by_key_.emplace(setting.key, &setting);
  }

  ConfigNode make() {
    ConfigNode root{.kind = NodeKind::kMap};
    put(root, "version", text_node("v1"));
    const Schema schema;
    for (const KeySpec& key : schema.keys()) {
      if (key.flag != nullptr) put_setting(root, key);
      if (key.path == "resources.gpus") put_rules(root, "gpus", loaded_.settings.sharing.gpu_names);
      if (key.path == "resources.mig") put_rules(root, "mig", loaded_.settings.sharing.mig_names);
      if (key.path == "sharing.timeSlicing") put_replications(root);
    }
    return root;
  }

 private:
  std::string origin_of(const std::string& key) const {
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? "" : found->second->origin.text;
  }

  void put_setting(ConfigNode& root, const KeySpec& key) const {
    const auto found = by_key_.find(key.path);
    if (found == by_key_.end()) return;
    ConfigNode node = value_node(*key.flag, found->second->value);
    node.remark = found->second->origin.text;
    put(section_at(root, parent_path(key.path)), std::string(last_name(key.path)), std::move(node));
  }

  void put_rules(ConfigNode& root, const std::string& name,
                 const std::vector<NameRule>& rules) const {
    if (rules.empty()) return;
    ConfigNode list{.kind = NodeKind::kList};
    for (std::size_t i = 0; i < rules.size(); ++i) {
      ConfigNode row{.kind = NodeKind::kMap};
      put(row, "pattern", text_node(rules[i].pattern));
      put(row, "name", text_node(rules[i].name.text));
      row.items.front().remark = origin_of("resources." + name + "[" + std::to_string(i) + "]");
      list.items.push_back(std::move(row));
    }
    put(section_at(root, "resources"), name, std::move(list));
  }

  void put_replications(ConfigNode& root) const {
    const SharingPolicy& policy = loaded_.settings.sharing;
    if (policy.replications.empty()) return;
    ConfigNode list{.kind = NodeKind::kList};
    for (std::size_t i = 0; i < policy.replications.size(); ++i) {
      const Replication& replication = policy.replications[i];
      ConfigNode row{.kind = NodeKind::kMap};
      put(row, "name", text_node(replication.resource.text));
      row.items.front().remark =
          origin_of("sharing.timeSlicing.resources[" + std::to_string(i) + "]");
      if (replication.rename) put(row, "rename", text_node(replication.rename->text));
      put(row, "devices", devices_node(replication.devices));
      put(row, "replicas", bare_node(std::to_string(replication.replicas)));
      list.items.push_back(std::move(row));
    }
    ConfigNode& section = section_at(root, "sharing.timeSlicing");
    const std::string fail = "failRequestsGreaterThanOne";
    put(section, fail, bare_node(policy.fail_requests_greater_than_one ? "true" : "false"));
    section.items.back().remark = origin_of("sharing.timeSlicing." + fail);
    put(section, "resources", std::move(list));
  }

  const Loaded& loaded_;
  std::map<std::string_view, const Provenance*> by_key_;
};

}  // namespace

ConfigNode effective_tree(const Loaded& loaded) { return TreeMaker(loaded).make(); }

std::vector<Provenance> outside_the_file(const Loaded& loaded) {
  std::vector<Provenance> found;
  for (const Provenance& setting : loaded.provenance) {
    const FlagSpec* flag = find_flag(setting.setting);
    const bool idle = flag != nullptr && flag->group == FlagGroup::kWithoutEffect &&
                      setting.origin.kind == OriginKind::kDefault;
    if (setting.key.empty() && !idle) found.push_back(setting);
  }
  return found;
}

}  // namespace tranche
