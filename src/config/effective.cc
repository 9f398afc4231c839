// SPDX-License-Identifier: Apache-2.0
#include "config/effective.h"

#include <map>
#include <string>
#include <utility>

#include "base/text.h"
#include "config/device_words.h"
#include "config/flag_table.h"
#include "config/memory_size.h"
#include "config/replication_reader.h"
#include "config/schema.h"
#include "config/sharing_words.h"

namespace tranche {
namespace {

ConfigNode text_node(const std::string& text) {
  return {.kind = NodeKind::kScalar, .text = text, .quoted = true};
}
// A boolean or a number.
ConfigNode bare_node(const std::string& text) { return {.kind = NodeKind::kScalar, .text = text}; }

ConfigNode truth_node(bool truth) { return bare_node(truth ? "true" : "false"); }

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

// Only the keys that fit the row's form.
ConfigNode policy_node(const ResourcePolicy& policy) {
  const Terms& terms = policy.terms;
  ConfigNode row{.kind = NodeKind::kMap};
  put(row, "resource", text_node(policy.resource.text));
  put(row, "devices", devices_node(policy.devices));
  if (policy.model) put(row, "model", text_node(*policy.model));
  if (policy.mig_profile) put(row, "migProfile", text_node(*policy.mig_profile));
  put(row, "share", text_node(text_of(share_words(), terms.form)));
  if (terms.form == ShareForm::kReplicas) {
    put(row, "replicas", bare_node(std::to_string(policy.replicas)));
    if (policy.replica_memory) {
      put(row, "memory", text_node(memory_size_text(*policy.replica_memory)));
    }
  }
  if (terms.form == ShareForm::kMemory) {
    put(row, "unit", text_node(policy.unit ? memory_size_text(*policy.unit) : "auto"));
    put(row, "offer", text_node(text_of(offer_words(), terms.shown)));
  } else {
    put(row, "distinctGpus", truth_node(terms.distinct_gpus));
    put(row, "failRequestsGreaterThanOne", truth_node(terms.one_share_only));
  }
  if (terms.form != ShareForm::kWhole) {
    put(row, "placement", text_node(text_of(placement_words(), terms.placement)));
  }
  put(row, "dialect", text_node(text_of(dialect_words(), terms.dialect)));
  if (terms.dialect == Dialect::kNestedHost) {
    put(row, "exposure", text_node(text_of(exposure_words(), terms.exposure)));
  }
  put(row, "enforcement", text_node(text_of(enforcement_words(), terms.demanded)));
  return row;
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
      if (key.path == replicated_section()) put_replications(root);
      if (key.path == "tranche.policies") put_policies(root);
    }
    return root;
  }

 private:
  std::string replicated_section() const {
    const bool mps = loaded_.settings.sharing.replicas_use_mps;
    return std::string(section_path(mps ? ReplicaKind::kMps : ReplicaKind::kTimeSlicing));
  }

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
          origin_of(replicated_section() + ".resources[" + std::to_string(i) + "]");
      if (replication.rename) put(row, "rename", text_node(replication.rename->text));
      put(row, "devices", devices_node(replication.devices));
      put(row, "replicas", bare_node(std::to_string(replication.replicas)));
      list.items.push_back(std::move(row));
    }
    ConfigNode& section = section_at(root, replicated_section());
    const std::string fail = "failRequestsGreaterThanOne";
    put(section, fail, truth_node(policy.fail_requests_greater_than_one));
    section.items.back().remark = origin_of(replicated_section() + "." + fail);
    put(section, "resources", std::move(list));
  }

  void put_policies(ConfigNode& root) const {
    const std::vector<ResourcePolicy>& policies = loaded_.settings.sharing.policies;
    if (policies.empty()) return;
    ConfigNode list{.kind = NodeKind::kList};
    for (std::size_t i = 0; i < policies.size(); ++i) {
      list.items.push_back(policy_node(policies[i]));
      list.items.back().items.front().remark =
          origin_of("tranche.policies[" + std::to_string(i) + "]");
    }
    put(section_at(root, "tranche"), "policies", std::move(list));
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
