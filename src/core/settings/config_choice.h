// SPDX-License-Identifier: Apache-2.0
//
// Chooses one of the named configurations by the node's label, as NVIDIA's config-manager does.
// Pure.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/settings/named_config_options.h"

namespace tranche::core {

enum class ChosenBy { kLabel, kDefault, kNamed, kSingle, kEmpty };
inline constexpr Word<ChosenBy> kChosenBy[] = {{"label", ChosenBy::kLabel},
                                               {"default", ChosenBy::kDefault},
                                               {"fallback-named", ChosenBy::kNamed},
                                               {"fallback-single", ChosenBy::kSingle},
                                               {"fallback-empty", ChosenBy::kEmpty}};

struct ConfigChoice {
  std::string name;  // a file of the folder; empty: no file, all settings have their defaults
  ChosenBy by = ChosenBy::kEmpty;
  bool is_remembered = false;  // by an earlier run, because the label is not known or was refused

  bool operator==(const ConfigChoice&) const = default;
};

using ConfigNames = std::set<std::string>;

// Whether a file of the folder can be chosen. Names with two dots in front belong to the mount of
// a ConfigMap. No name leads out of the folder.
bool is_config_name(std::string_view name);
ConfigNames config_names(const std::vector<std::string>& files);

// `label` is the value of the node's label; empty: it has none. The error names what is missing
// and what there is.
Result<ConfigChoice> choose_config(const NamedConfigOptions& options, const std::string& label,
                                   const ConfigNames& names);

// At start, best first: what the label says, what was in force before, what a node without the
// label gets. So a label that is not known, or names what is not there yet, keeps nothing from
// being served.
struct ConfigCandidates {
  std::vector<ConfigChoice> choices;
  std::string problem;  // why the label's own choice is not among them; empty: it is, or unknown
};
ConfigCandidates configs_at_start(const NamedConfigOptions& options,
                                  const std::optional<std::string>& label, const ConfigNames& names,
                                  const std::optional<ConfigChoice>& remembered);

// "label nvidia.com/device-plugin.config=a", for people.
std::string reason_text(const NamedConfigOptions& options, const ConfigChoice& choice);

}  // namespace tranche::core
