// SPDX-License-Identifier: Apache-2.0
#include "programs/settings/replication_reader.h"

#include <fmt/core.h>

#include <optional>
#include <string>
#include <variant>

#include "programs/settings/row_keys.h"
#include "programs/settings/row_overlap.h"

namespace tranche::programs {
namespace {

class ReplicationReader {
 public:
  ReplicationReader(ReplicaKind kind, FileProblems& problems)
      : shown_(section_path(kind)), problems_(problems) {
    section_.kind = kind;
    section_.fail_requests_greater_than_one = kind == ReplicaKind::kMps;
  }

  // `line` is that of the section's key.
  ReplicatedSection read(const ConfigNode& node, unsigned line) {
    const ConfigNode* rows = given_item(node, "resources");
    if (rows == nullptr || (rows->kind == NodeKind::kList && rows->items.empty())) {
      problems_.add(
          line, shown_,
          fmt::format("no resources specified (name what is replicated in {}.resources)", shown_));
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
    for_each_row(rows, shown_ + ".resources", [&](const ConfigNode& row, const std::string& shown) {
      auto replication = read_replication(row, shown);
      if (!replication) return;
      const std::string& resource = replication->resource.text;
      if (const auto other = overlap.add(resource, replication->devices, row.line)) {
        problems_.add(row.line, shown,
                      fmt::format("selects devices of {} that the row on line {} selects too",
                                  resource, *other));
      }
      section_.add(*std::move(replication), row.line);
    });
  }

  std::optional<Replication> read_replication(const ConfigNode& row, const std::string& shown) {
    Replication replication;
    bool good = read_row(replication_keys(), row, shown, problems_, replication);
    const auto need = [&](std::string_view key, const char* missing) {
      if (given_item(row, key) != nullptr) return;
      good = false;
      // `resource` was already reported with the right key.
      if (key == "name" && find_item(row, "resource") != nullptr) return;
      problems_.add(row.line, shown, missing);
    };
    need("name", "no resource name specified");
    need("replicas", "no replicas specified");
    if (!good) return std::nullopt;
    if (!std::holds_alternative<AllDevices>(replication.devices)) {
      problems_.remark(given_item(row, "devices")->line, shown + ".devices",
                       std::string(kHonoured));
    }
    if (!complete_rename(row, shown, replication)) return std::nullopt;
    return replication;
  }

  // Returns whether a default rename is valid.
  bool complete_rename(const ConfigNode& row, const std::string& shown, Replication& replication) {
    const std::string usual = replication.resource.text + ".shared";
    if (replication.rename) {
      if (replication.rename->text != usual) {
        problems_.remark(given_item(row, "rename")->line, shown + ".rename",
                         std::string(kHonoured));
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
  // As in NVIDIA's plugin, a key without a value is no MPS section, but an empty timeSlicing
  // section.
  const ConfigNode* node = is_mps ? given_item(sharing, key) : find_item(sharing, key);
  if (node == nullptr || (node->kind != NodeKind::kMap && node->kind != NodeKind::kNull)) return {};
  return ReplicationReader(kind, problems).read(*node, key_line(sharing, key));
}

}  // namespace tranche::programs
