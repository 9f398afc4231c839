// SPDX-License-Identifier: Apache-2.0
#include "programs/settings/sharing_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "programs/settings/row_keys.h"

namespace tranche::programs {
namespace {

const ConfigNode* given_section(const ConfigNode& map, std::string_view key) {
  const ConfigNode* item = given_item(map, key);
  return item == nullptr || item->kind != NodeKind::kMap ? nullptr : item;
}

class SharingReader {
 public:
  explicit SharingReader(FileProblems& problems) : problems_(problems) {}

  SharingSections read(const ConfigNode& root) {
    if (const ConfigNode* resources = given_section(root, "resources")) {
      sections_.gpu_names = read_names(*resources, "gpus", gpu_name_keys());
      sections_.mig_names = read_names(*resources, "mig", mig_name_keys());
    }
    if (const ConfigNode* sharing = given_section(root, "sharing")) read_sharing_section(*sharing);
    if (const ConfigNode* own = given_section(root, "tranche")) read_policy_section(*own);
    warn_of_unknown_names();
    return std::move(sections_);
  }

 private:
  Rows<NameRule> read_names(const ConfigNode& resources, const std::string& key,
                            RowKeys<NameRule> keys) {
    Rows<NameRule> rules;
    const ConfigNode* list = given_item(resources, key);
    if (list == nullptr || list->kind != NodeKind::kList) return rules;
    const std::string section = "resources." + key;
    if (!list->items.empty()) {
      problems_.remark(key_line(resources, key), section, std::string(kHonoured));
    }
    for_each_row(*list, section, [&](const ConfigNode& row, const std::string& shown) {
      const auto need = [&](const char* name, bool is_given) {
        if (is_given) return true;
        problems_.add(row.line, shown, fmt::format("resources must have a '{}' field set", name));
        return false;
      };
      const ConfigNode* pattern = given_item(row, "pattern");
      const bool has_pattern = need("pattern", pattern != nullptr && !pattern->text.empty());
      const bool has_name = need("name", given_item(row, "name") != nullptr);
      NameRule rule;
      if (!has_pattern || !has_name || !read_row(keys, row, shown, problems_, rule)) return;
      rules.add(std::move(rule), row.line);
    });
    return rules;
  }

  // As in NVIDIA's plugin, with both sections replicas use MPS.
  void read_sharing_section(const ConfigNode& sharing) {
    ReplicatedSection slicing = read_replications(sharing, ReplicaKind::kTimeSlicing, problems_);
    ReplicatedSection mps = read_replications(sharing, ReplicaKind::kMps, problems_);
    if (mps.rows.empty()) {
      sections_.replicated = std::move(slicing);
      return;
    }
    if (!slicing.rows.empty()) {
      problems_.remark(
          key_line(sharing, "timeSlicing"), "sharing.timeSlicing",
          "without effect: sharing.mps overrides it, as in NVIDIA's plugin; for both at "
          "once, use tranche.policies");
    }
    sections_.replicated = std::move(mps);
  }

  // A row may use NVIDIA's names of GPUs and MIG devices, or those of `resources`.
  void warn_of_unknown_names() {
    std::vector<std::string> names{"nvidia.com/gpu"};
    for (const auto* rules : {&sections_.gpu_names, &sections_.mig_names}) {
      for (const NameRule& rule : rules->rows) names.push_back(rule.name.text);
    }
    const ReplicatedSection& replicated = sections_.replicated;
    const std::string section = std::string(section_path(replicated.kind)) + ".resources";
    for (std::size_t i = 0; i < replicated.rows.size(); ++i) {
      const std::string& name = replicated.rows[i].resource.text;
      if (name.starts_with("nvidia.com/mig-")) continue;
      if (std::ranges::find(names, name) != names.end()) continue;
      const auto near = nearest(name, names);
      problems_.warn(replicated.lines[i], row_name(section, i) + ".name",
                     fmt::format("no device is called {}, so the row has no effect{}", name,
                                 near ? fmt::format("; did you mean {}?", *near)
                                      : " (GPUs are nvidia.com/gpu, MIG devices "
                                        "nvidia.com/mig-<profile>, unless resources names them "
                                        "otherwise)"));
    }
  }

  void read_policy_section(const ConfigNode& own) {
    sections_.policies = read_policies(own, problems_);
    const ReplicatedSection& replicated = sections_.replicated;
    for (std::size_t i = 0; i < sections_.policies.rows.size(); ++i) {
      const ResourceName& name = sections_.policies.rows[i].resource;
      const auto same = std::ranges::find(replicated.rows, name, &offered_as);
      if (same == replicated.rows.end()) continue;
      const auto position = static_cast<std::size_t>(same - replicated.rows.begin());
      problems_.add(
          sections_.policies.lines[i], row_name("tranche.policies", i),
          fmt::format("offers {}, which the row of {} on line {} offers too; rename one of "
                      "them, or leave it out",
                      name.text, section_path(replicated.kind), replicated.lines[position]));
    }
  }

  FileProblems& problems_;
  SharingSections sections_;
};

}  // namespace

SharingSections read_sharing(const ConfigNode& root, FileProblems& problems) {
  return SharingReader(problems).read(root);
}

}  // namespace tranche::programs
