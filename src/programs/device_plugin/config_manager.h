// SPDX-License-Identifier: Apache-2.0
//
// The program `config-manager`, which NVIDIA's chart runs beside the plugin: keeps a link to the
// configuration that the node's label chooses, and signals the plugin when it changes. Our own
// agent follows the label itself (--config-dir) and does not need it.
#pragma once

#include <optional>

#include "programs/settings/load.h"

namespace tranche::programs {

// The exit code, where the program was called by that name.
std::optional<int> run_as_config_manager(const Sources& sources);

}  // namespace tranche::programs
