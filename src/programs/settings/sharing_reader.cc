// SPDX-License-Identifier: Apache-2.0
#include "config/sharing_reader.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "config/row_fields.h"

namespace tranche {
namespace {

const ConfigNode* given_section(const ConfigNode& map, std::string_view key) {
  const ConfigNode* item = given_item(map, key);
  return item == nullptr || item->kind != NodeKind::kMap ? nullptr : item;
}

class SharingReader {
 public:
  explicit SharingReader(FileProblems& problems) : problems_(problems), fields_(problems) {}

  SharingSections read(const ConfigNode& root) {
    if (const ConfigNode* resources = given_section(root, "resources")) {
      read_names(*resources, "gpus", sections_.gpu_names, sections_.gpu_name_lines);
      read_names(*resources, "mig", sections_.mig_names, sections_.mig_name_lines);
    }
    if (const ConfigNode* sharing = given_section(root, "sharing")) read_sharing_section(*sharing);
    if (const ConfigNode* own = given_section(root, "tranche")) read_policy_section(*own);
    return std::move(sections_);
  }

 private:
  void read_names(const ConfigNode& resources, const std::string& key, std::vector<NameRule>& rules,
                  std::vector<unsigned>& lines) {
    const ConfigNode* rows = given_item(resources, key);
    if (rows == nullptr || rows->kind != NodeKind::kList) return;
    const std::string section = "resources." + key;
    if (!rows->items.empty()) {
      problems_.remark(key_line(resources, key), section, std::string(kHonoured));
    }
    for (std::size_t i = 0; i < rows->items.size(); ++i) {
      const ConfigNode& row = rows->items[i];
      if (row.kind != NodeKind::kMap) continue;
      if (auto rule = read_rule(row, row_name(section, i))) {
        rules.push_back(*rule);
        lines.push_back(row.line);
      }
    }
  }

  std::optional<NameRule> read_rule(const ConfigNode& row, const std::string& shown) {
    const ConfigNode* pattern = given_item(row, "pattern");
    const ConfigNode* name = given_item(row, "name");
    const bool has_pattern = pattern != nullptr && !pattern->text.empty();
    if (!has_pattern) problems_.add(row.line, shown, "resources must have a 'pattern' field set");
    if (name == nullptr) problems_.add(row.line, shown, "resources must have a 'name' field set");
    if (!has_pattern || name == nullptr) return std::nullopt;
    const auto parsed = fields_.read_name(*name, shown + ".name");
    if (!parsed || !is_text(*pattern)) return std::nullopt;
    return NameRule{pattern->text, *parsed};
  }

  // Whether replicas go through MPS is NVIDIA's rule: with both sections, they do.
  void read_sharing_section(const ConfigNode& sharing) {
    ReplicatedSection slicing = read_replications(sharing, ReplicaKind::kTimeSlicing, problems_);
    ReplicatedSection mps = read_replications(sharing, ReplicaKind::kMps, problems_);
    if (mps.rows.empty()) {
      sections_.replicated = std::move(slicing);
      return;
    }
    if (!slicing.rows.empty()) {
      problems_.remark(key_line(sharing, "timeSlicing"), "sharing.timeSlicing",
                       "without effect: sharing.mps is there too, and wins as in NVIDIA's plugin; "
                       "for both at once, use tranche.policies");
    }
    sections_.replicated = std::move(mps);
  }

  void read_policy_section(const ConfigNode& own) {
    sections_.policies = read_policies(own, problems_);
    const ReplicatedSection& replicated = sections_.replicated;
    for (std::size_t i = 0; i < sections_.policies.rows.size(); ++i) {
      const ResourceName& name = sections_.policies.rows[i].resource;
      const auto same = std::ranges::find(replicated.rows, name, &offered_as);
      if (same == replicated.rows.end()) continue;
      const auto position = static_cast<std::size_t>(same - replicated.rows.begin());
      problems_.add(sections_.policies.lines[i], row_name("tranche.policies", i),
                    "offers " + name.text + ", which the row of " +
                        std::string(section_path(replicated.kind)) + " on line " +
                        std::to_string(replicated.lines[position]) +
                        " offers too; rename one of them, or leave it out");
    }
  }

  FileProblems& problems_;
  RowFields fields_;
  SharingSections sections_;
};

}  // namespace

SharingSections read_sharing(const ConfigNode& root, FileProblems& problems) {
  return SharingReader(problems).read(root);
}

}  // namespace tranche
