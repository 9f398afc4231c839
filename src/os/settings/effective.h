// SPDX-License-Identifier: Apache-2.0
//
// The effective configuration: a tree in the file's format with the origin of each
// value, printed as YAML and JSON, and compared with the one before. Pure.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "os/settings/document.h"
#include "os/settings/resolved.h"
#include "os/settings/schema.h"

namespace tranche::os {

// One setting: its value and origin.
struct Provenance {
  std::string setting;  // the flag's name, the variable's, or the section of the file
  std::string key;      // in the file; empty: it cannot be set there
  Value value;
  Origin origin;

  bool operator==(const Provenance&) const = default;
};
// For every option, in the order of the table.
std::vector<Provenance> provenance_of(const Resolved& resolved);

struct Effective {
  OptionTable options;
  ConfigNode tree;  // remarks are the origins of values
  std::vector<Provenance> provenance;
  std::vector<std::string> notices;
  std::vector<std::string> warnings;
};

// The tree, followed by comments for settings that the file cannot have.
std::string effective_yaml(const Effective& effective);

// For programs: "configuration" in the file's format, "notInFile", "origins" by setting,
// "notices" and "warnings".
std::string effective_json(const Effective& effective);

// Effective values by key: "flags.migStrategy", "tranche.policies[nvidia.com/gpu].replicas";
// for settings that the file cannot have, by flag: "--state-dir". A row of a list is named by the
// first of `row_names` that it has, and by its position among those of the same name:
// "[nvidia.com/gpu #2]".
using EffectiveValues = std::map<std::string, std::string>;
EffectiveValues effective_values(const Effective& effective,
                                 std::span<const std::string_view> row_names);

// "flags.migStrategy: none -> mixed", "...: was 4, removed", "...: added, 4"; at most `most` lines,
// and a last one that counts the rest.
std::vector<std::string> changes_between(const EffectiveValues& before,
                                         const EffectiveValues& after, std::size_t most = 40);

// The settings that the file cannot have, without those that are unset and have no effect.
std::vector<Provenance> outside_the_file(const Effective& effective);

ConfigNode text_node(const std::string& text);
ConfigNode bare_node(const std::string& text);  // a boolean or a number
ConfigNode truth_node(bool truth);
ConfigNode value_node(const Option& option, const Value& value);
void put(ConfigNode& map, std::string_view key, ConfigNode value);
// The section below `root` with this path; created if missing.
ConfigNode& section_at(ConfigNode& root, std::string_view path);

}  // namespace tranche::os
