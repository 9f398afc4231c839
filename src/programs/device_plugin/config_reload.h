// SPDX-License-Identifier: Apache-2.0
//
// The steps of a reload beside planning: reading a file that has changed, and logging what it
// changes. For the main thread.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "os/log.h"
#include "os/loop.h"
#include "os/settings/config_watch.h"
#include "programs/settings/load.h"

namespace tranche::programs {

// The file, if it has changed; the log says what holds a change up.
std::optional<ConfigReading> take_change(ConfigWatch& watch, Log& log);

// Calls with the file whenever it has changed; the log says what holds a change up.
void follow(Loop& loop, ConfigWatch& watch, Log& log,
            std::function<void(const ConfigReading&)> changed);

// An error, too, for a file without any content, unless it is /dev/null: a file that
// somebody is about to write is empty for a moment, and would withdraw everything.
// `choice` is why it is this file of --config-dir.
Result<Loaded> load_reading(const Sources& sources, const std::string& path,
                            const ConfigReading& reading,
                            const std::optional<ConfigChoice>& choice = std::nullopt);

// The notices and warnings of a configuration.
void log_remarks(const Loaded& loaded, Log& log);

// What the new configuration changes, a line each.
void log_changes(const EffectiveValues& before, const EffectiveValues& after, Log& log);

// What of it takes effect at the next start only: where the driver is looked for
// cannot change under a running scan.
void log_what_waits(const Settings& now, const Settings& next, Log& log);

}  // namespace tranche::programs
