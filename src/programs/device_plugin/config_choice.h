// SPDX-License-Identifier: Apache-2.0
//
// Loads the configuration that the node's label chooses in --config-dir, and remembers the choice
// in the state folder, so that an agent that starts while the API server is away keeps it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "core/settings/config_choice.h"
#include "node/api_server/own_node.h"
#include "os/latest.h"
#include "programs/settings/load.h"

namespace tranche::programs {

// The value of the label; "" where the Node has none. Empty: not known, which is not the same.
// A Node that does not exist may be about to be registered, so nothing is known of its label.
std::optional<std::string> label_value(const OwnNodeState& state, const std::string& label);

// The same, as soon as it is known, at most after `patience`.
std::optional<std::string> wait_for_label(const Latest<OwnNodeState>& node,
                                          const std::string& label,
                                          std::chrono::milliseconds patience);

// The names that can be chosen. An error where the folder cannot be read.
Result<ConfigNames> list_configs(const std::string& folder);

// The file of a choice; empty: none.
std::string chosen_path(const NamedConfigOptions& options, const ConfigChoice& choice);

// `bare` was loaded without a file and has --config-dir. Takes the first of the candidates that
// can be loaded; `refused` gets why better ones were not.
Result<Loaded> load_chosen(const Sources& sources, const Loaded& bare,
                           const std::optional<std::string>& label,
                           std::vector<std::string>& refused);

// NotFound: nothing is remembered.
Result<ConfigChoice> recall_choice(const std::string& state_dir);
Status remember_choice(const std::string& state_dir, const ConfigChoice& choice);

}  // namespace tranche::programs
