// SPDX-License-Identifier: Apache-2.0
#include "config/replication_reader.h"

#include <optional>
#include <string>
#include <variant>

#include "config/row_fields.h"
#include "config/row_overlap.h"

namespace tranche {
namespace {

class ReplicationReader {
 public:
  ReplicationReader(ReplicaKind kind, FileProblems& problems)
      : shown_(section_path(kind)), problems_(problems), fields_(problems) {
    section_.kind = kind;
    section_.fail_requests_greater_than_one = kind == ReplicaKind::kMps;
  }

  // `line` is that of the section's key.
  ReplicatedSection read(const ConfigNode& node, unsigned line) {
    const ConfigNode* rows = given_item(node, "resources");
    if (rows == nullptr || (rows->kind == NodeKind::kList && rows->items.empty())) {
      problems_.add(line, shown_,
                    "no resources specified (name what is replicated in " + shown_ + ".resources)");
      return std::move(section_);
    }
    if (const ConfigNode* fail = given_item(node, "failRequestsGreaterThanOne")) {
      section_.fail_requests_greater_than_one = scalar_truth(*fail);
      section_.fail_requests_line = fail->line;
    }
    const ConfigNode* rename = given_item(node, "renameByDefault");
    rename_by_default_ = rename != nullptr && scalar_truth(*rename);
    if (rows->kind == NodeKind::kList) read_rows(*rows);
    return std::move(section_);
  }

 private:
  void read_rows(const ConfigNode& rows) {
    RowOverlap overlap;
    for (std::size_t i = 0; i < rows.items.size(); ++i) {
      const ConfigNode& row = rows.items[i];
      if (row.kind != NodeKind::kMap) continue;
      const std::string shown = row_name(shown_ + ".resources", i);
      const auto replication = read_replication(row, shown);
      if (!replication) continue;
      if (const auto other =
              overlap.add(replication->resource.text, replication->devices, row.line)) {
        problems_.add(row.line, shown,
                      "selects devices of " + replication->resource.text +
                          " that the row on line " + std::to_string(*other) + " selects too");
      }
      section_.rows.push_back(*replication);
      section_.lines.push_back(row.line);
    }
  }

  std::optional<Replication> read_replication(const ConfigNode& row, const std::string& shown) {
    const ConfigNode* name = given_item(row, "name");
    const ConfigNode* replicas = given_item(row, "replicas");
    if (name == nullptr) problems_.add(row.line, shown, "no resource name specified");
    if (replicas == nullptr) problems_.add(row.line, shown, "no replicas specified");
    const auto count =
        replicas == nullptr ? std::nullopt : fields_.read_replicas(*replicas, shown + ".replicas");
    const auto resource =
        name == nullptr ? std::nullopt : fields_.read_name(*name, shown + ".name");
    const ConfigNode* selection = given_item(row, "devices");
    const auto devices = fields_.read_devices(selection, shown + ".devices");
    if (!count || !resource || !devices) return std::nullopt;
    if (!std::holds_alternative<AllDevices>(*devices)) {
      problems_.remark(selection->line, shown + ".devices", std::string(kHonoured));
    }
    Replication replication{.resource = *resource, .devices = *devices, .replicas = *count};
    if (!read_rename(row, shown, replication)) return std::nullopt;
    return replication;
  }

  // Whether the row's rename, given or by default, is good.
  bool read_rename(const ConfigNode& row, const std::string& shown, Replication& replication) {
    const std::string usual = replication.resource.text + ".shared";
    const ConfigNode* rename = given_item(row, "rename");
    if (rename != nullptr) {
      replication.rename = fields_.read_name(*rename, shown + ".rename");
      if (!replication.rename) return false;
      if (replication.rename->text != usual) {
        problems_.remark(rename->line, shown + ".rename", std::string(kHonoured));
      }
      return true;
    }
    if (!rename_by_default_) return true;
    const Result<ResourceName> name = parse_resource_name(usual);
    if (!name) {
      problems_.add(row.line, shown, "renamed by renameByDefault: " + name.error().message);
      return false;
    }
    replication.rename = *name;
    return true;
  }

  const std::string shown_;
  FileProblems& problems_;
  RowFields fields_;
  ReplicatedSection section_;
  bool rename_by_default_ = false;
};

}  // namespace

std::string_view section_path(ReplicaKind kind) {
  return kind == ReplicaKind::kMps ? "sharing.mps" : "sharing.timeSlicing";
}

const ResourceName& offered_as(const Replication& row) {
  return row.rename ? *row.rename : row.resource;
}

ReplicatedSection read_replications(const ConfigNode& sharing, ReplicaKind kind,
                                    FileProblems& problems) {
  const bool is_mps = kind == ReplicaKind::kMps;
  const std::string_view key = is_mps ? "mps" : "timeSlicing";
  // A key without a value is no section of MPS, but an empty one of the other:
  // so it is in NVIDIA's plugin.
  const ConfigNode* node = is_mps ? given_item(sharing, key) : find_item(sharing, key);
  if (node == nullptr) return {.kind = kind};
  if (node->kind != NodeKind::kMap && node->kind != NodeKind::kNull) return {.kind = kind};
  return ReplicationReader(kind, problems).read(*node, key_line(sharing, key));
}

}  // namespace tranche
