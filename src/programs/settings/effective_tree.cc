// SPDX-License-Identifier: Apache-2.0
#include "programs/settings/effective_tree.h"

#include <fmt/core.h>

#include <map>
#include <string>
#include <utility>

#include "programs/settings/file_schema.h"
#include "programs/settings/flag_table.h"
#include "programs/settings/replication_reader.h"
#include "programs/settings/row_keys.h"

namespace tranche::programs {
namespace {

class TreeMaker {
 public:
  explicit TreeMaker(const Loaded& loaded) : loaded_(loaded) {
    for (const Provenance& setting : loaded.provenance) by_key_.emplace(setting.key, &setting);
  }

  ConfigNode make() {
    ConfigNode root{.kind = NodeKind::kMap};
    put(root, "version", text_node("v1"));
    const SharingPolicy& sharing = loaded_.settings.sharing;
    const std::string_view replicated =
        section_path(sharing.replicas_use_mps ? ReplicaKind::kMps : ReplicaKind::kTimeSlicing);
    const Schema& schema = file_schema();
    for (const KeySpec& key : schema.keys()) {
      if (key.flag != nullptr) put_setting(root, key);
      if (key.path == "resources.gpus") {
        put_rows(root, key.path, gpu_name_keys(), sharing.gpu_names);
      }
      if (key.path == "resources.mig") put_rows(root, key.path, mig_name_keys(), sharing.mig_names);
      if (key.path == replicated) put_replications(root, key.path);
      if (key.path == "tranche.policies") put_rows(root, key.path, policy_keys(), sharing.policies);
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

  template <typename Row>
  void put_rows(ConfigNode& root, const std::string& path, RowKeys<Row> keys,
                const std::vector<Row>& rows) const {
    if (rows.empty()) return;
    ConfigNode list{.kind = NodeKind::kList};
    for (std::size_t i = 0; i < rows.size(); ++i) {
      list.items.push_back(row_node(keys, rows[i]));
      list.items.back().items.front().remark = origin_of(row_name(path, i));
    }
    put(section_at(root, parent_path(path)), last_name(path), std::move(list));
  }

  void put_replications(ConfigNode& root, const std::string& path) const {
    const SharingPolicy& policy = loaded_.settings.sharing;
    if (policy.replications.empty()) return;
    ConfigNode& section = section_at(root, path);
    const std::string fail = "failRequestsGreaterThanOne";
    put(section, fail, truth_node(policy.fail_requests_greater_than_one));
    section.items.back().remark = origin_of(fmt::format("{}.{}", path, fail));
    put_rows(root, path + ".resources", replication_keys(), policy.replications);
  }

  const Loaded& loaded_;
  std::map<std::string_view, const Provenance*> by_key_;
};

}  // namespace

Effective effective(const Loaded& loaded) {
  return {.options = flag_table(),
          .tree = TreeMaker(loaded).make(),
          .provenance = loaded.provenance,
          .notices = loaded.notices,
          .warnings = loaded.warnings};
}

std::string effective_yaml(const Loaded& loaded) { return effective_yaml(effective(loaded)); }

std::string effective_json(const Loaded& loaded) { return effective_json(effective(loaded)); }

EffectiveValues effective_values(const Loaded& loaded) {
  // Keys that name a row, in the order of preference.
  constexpr std::string_view kNames[] = {"resource", "name", "pattern"};
  return effective_values(effective(loaded), kNames);
}

}  // namespace tranche::programs
