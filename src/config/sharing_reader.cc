// SPDX-License-Identifier: Apache-2.0
#include "config/sharing_reader.h"

#include <optional>
#include <set>
#include <string>

#include "base/text.h"
#include "config/device_words.h"
#include "config/row_overlap.h"
#include "config/values.h"

namespace tranche {
namespace {

constexpr unsigned kMostReplicas = 1'000'000;
constexpr std::string_view kHonoured = "honoured here; NVIDIA's plugin ignores it";

// The item of a map, unless it is absent or without a value.
const ConfigNode* given(const ConfigNode& map, std::string_view key) {
  const ConfigNode* item = find_item(map, key);
  return item == nullptr || item->kind == NodeKind::kNull ? nullptr : item;
}

const ConfigNode* given_section(const ConfigNode& map, std::string_view key) {
  const ConfigNode* item = given(map, key);
  return item == nullptr || item->kind != NodeKind::kMap ? nullptr : item;
}

bool is_text(const ConfigNode& node) {
  return node.kind == NodeKind::kScalar && scalar_kind(node) == ScalarKind::kText;
}
bool is_integer(const ConfigNode& node) {
  return node.kind == NodeKind::kScalar && scalar_kind(node) == ScalarKind::kInteger;
}

std::string row_name(const std::string& section, std::size_t index) {
  return section + "[" + std::to_string(index) + "]";
}

class SharingReader {
 public:
  explicit SharingReader(FileProblems& problems) : problems_(problems) {}

  SharingSections read(const ConfigNode& root) {
    if (const ConfigNode* resources = given_section(root, "resources")) {
      read_names(*resources, "gpus", sections_.gpu_names, sections_.gpu_name_lines);
      read_names(*resources, "mig", sections_.mig_names, sections_.mig_name_lines);
    }
    if (const ConfigNode* sharing = given_section(root, "sharing")) read_sharing_section(*sharing);
    return std::move(sections_);
  }

 private:
  std::optional<ResourceName> read_name(const ConfigNode& node, const std::string& key) {
    if (!is_text(node)) return std::nullopt;  // complained about already
    Result<ResourceName> name = parse_resource_name(node.text);
    if (name) return *name;
    problems_.add(node.line, key, name.error().message);
    return std::nullopt;
  }

  void read_names(const ConfigNode& resources, const std::string& key, std::vector<NameRule>& rules,
                  std::vector<unsigned>& lines) {
    const ConfigNode* rows = given(resources, key);
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
    const ConfigNode* pattern = given(row, "pattern");
    const ConfigNode* name = given(row, "name");
    const bool has_pattern = pattern != nullptr && !pattern->text.empty();
    if (!has_pattern) problems_.add(row.line, shown, "resources must have a 'pattern' field set");
    if (name == nullptr) problems_.add(row.line, shown, "resources must have a 'name' field set");
    if (!has_pattern || name == nullptr) return std::nullopt;
    const auto parsed = read_name(*name, shown + ".name");
    if (!parsed || !is_text(*pattern)) return std::nullopt;
    return NameRule{pattern->text, *parsed};
  }

  void read_sharing_section(const ConfigNode& sharing) {
    if (given(sharing, "mps") != nullptr) {
      problems_.add(key_line(sharing, "mps"), "sharing.mps",
                    "this version has no MPS yet; take the section out, and use "
                    "sharing.timeSlicing with the same rows for replicas without MPS");
    }
    const ConfigNode* slicing = find_item(sharing, "timeSlicing");
    if (slicing == nullptr) return;
    const std::string shown = "sharing.timeSlicing";
    if (slicing->kind != NodeKind::kMap && slicing->kind != NodeKind::kNull) return;
    const ConfigNode* rows = given(*slicing, "resources");
    if (rows == nullptr || (rows->kind == NodeKind::kList && rows->items.empty())) {
      problems_.add(key_line(sharing, "timeSlicing"), shown,
                    "no resources specified (name what is replicated in " + shown + ".resources)");
      return;
    }
    if (const ConfigNode* fail = given(*slicing, "failRequestsGreaterThanOne")) {
      sections_.fail_requests_greater_than_one = scalar_truth(*fail);
      sections_.fail_requests_line = fail->line;
    }
    const ConfigNode* rename = given(*slicing, "renameByDefault");
    rename_by_default_ = rename != nullptr && scalar_truth(*rename);
    if (rows->kind == NodeKind::kList) read_replications(*rows);
  }

  void read_replications(const ConfigNode& rows) {
    RowOverlap overlap;
    for (std::size_t i = 0; i < rows.items.size(); ++i) {
      const ConfigNode& row = rows.items[i];
      if (row.kind != NodeKind::kMap) continue;
      const std::string shown = row_name("sharing.timeSlicing.resources", i);
      const auto replication = read_replication(row, shown);
      if (!replication) continue;
      if (const auto other = overlap.add(*replication, row.line)) {
        problems_.add(row.line, shown,
                      "selects devices of " + replication->resource.text +
                          " that the row on line " + std::to_string(*other) + " selects too");
      }
      sections_.replications.push_back(*replication);
      sections_.replication_lines.push_back(row.line);
    }
  }

  std::optional<Replication> read_replication(const ConfigNode& row, const std::string& shown) {
    const ConfigNode* name = given(row, "name");
    const ConfigNode* replicas = given(row, "replicas");
    if (name == nullptr) problems_.add(row.line, shown, "no resource name specified");
    if (replicas == nullptr) problems_.add(row.line, shown, "no replicas specified");
    const auto count = replicas == nullptr ? std::nullopt : read_replicas(*replicas, shown);
    const auto resource = name == nullptr ? std::nullopt : read_name(*name, shown + ".name");
    const auto devices = read_devices(given(row, "devices"), shown + ".devices");
    if (!count || !resource || !devices) return std::nullopt;
    Replication replication{.resource = *resource, .devices = *devices, .replicas = *count};
    if (!read_rename(row, shown, replication)) return std::nullopt;
    return replication;
  }

  std::optional<unsigned> read_replicas(const ConfigNode& node, const std::string& shown) {
    if (!is_integer(node)) return std::nullopt;
    const auto count = parse_number<unsigned>(node.text);
    if (count && *count >= 1 && *count <= kMostReplicas) return count;
    const bool small = node.text.starts_with('-') || (count && *count == 0);
    problems_.add(node.line, shown + ".replicas",
                  std::string(small ? "number of replicas must be >= 1"
                                    : "number of replicas must be at most 1000000") +
                      ", found " + brief(node.text));
    return std::nullopt;
  }

  // Whether the row's rename, given or by default, is good.
  bool read_rename(const ConfigNode& row, const std::string& shown, Replication& replication) {
    const std::string usual = replication.resource.text + ".shared";
    const ConfigNode* rename = given(row, "rename");
    if (rename != nullptr) {
      replication.rename = read_name(*rename, shown + ".rename");
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

  std::optional<DeviceSelection> read_devices(const ConfigNode* node, const std::string& shown) {
    if (node == nullptr || (is_text(*node) && node->text == "all")) {
      return DeviceSelection(AllDevices{});
    }
    problems_.remark(node->line, shown, std::string(kHonoured));
    if (is_text(*node)) {
      problems_.add(
          node->line, shown,
          "devices set as '" + brief(node->text) + "' but the only valid string input is 'all'");
      return std::nullopt;
    }
    if (is_integer(*node)) {
      const auto count = parse_number<unsigned>(node->text);
      if (count && *count > 0) return DeviceSelection(FirstDevices{*count});
      problems_.add(
          node->line, shown,
          "devices set as '" + brief(node->text) + "' but a count of devices must be > 0");
      return std::nullopt;
    }
    if (node->kind == NodeKind::kList) return read_device_list(*node, shown);
    problems_.add(node->line, shown,
                  "unrecognized type for devices spec: expected all, a number or a list of "
                  "devices, found " +
                      describe(*node));
    return std::nullopt;
  }

  std::optional<DeviceSelection> read_device_list(const ConfigNode& list,
                                                  const std::string& shown) {
    std::vector<DeviceRef> devices;
    std::set<std::string> seen;
    if (list.items.empty()) {
      problems_.add(list.line, shown, "an empty list selects no device (leave it out for all)");
      return std::nullopt;
    }
    for (const ConfigNode& item : list.items) {
      const bool is_word = is_text(item) || is_integer(item);
      const Result<DeviceRef> device = parse_device_ref(is_word ? item.text : describe(item));
      if (!device) {
        problems_.add(item.line, shown, device.error().message);
        return std::nullopt;
      }
      if (!seen.insert(to_text(*device)).second) {
        problems_.add(item.line, shown, "lists " + to_text(*device) + " twice");
        return std::nullopt;
      }
      devices.push_back(*device);
    }
    return DeviceSelection(std::move(devices));
  }

  FileProblems& problems_;
  SharingSections sections_;
  bool rename_by_default_ = false;
};

}  // namespace

SharingSections read_sharing(const ConfigNode& root, FileProblems& problems) {
  return SharingReader(problems).read(root);
}

}  // namespace tranche
