// SPDX-License-Identifier: Apache-2.0
//
// The agent's configuration at start. For the main thread, before it serves.
#pragma once

#include <memory>
#include <optional>

#include "os/log.h"
#include "os/unique_fd.h"
#include "programs/device_plugin/api_link.h"
#include "programs/settings/load.h"

namespace tranche::programs {

// What is needed of the API server; null: nothing.
std::unique_ptr<ApiLink> make_api_link(const Sources& sources, const Settings& settings, Log& log);

// With --config-dir: the file that the node's label chooses. Waits a few seconds for the label and
// then starts with what is known; the label is followed later. Where nothing can be loaded, logs
// why and waits for another label or file. Empty: a signal asked to end.
std::optional<Loaded> load_at_start(const Sources& sources, const Loaded& bare, ApiLink* link,
                                    const UniqueFd& signals, Log& log);

// The same for commands, which ask no API server: what the agent remembers, else what a node
// without the label gets.
Result<Loaded> load_for_command(const Sources& sources, const Loaded& bare);

}  // namespace tranche::programs
