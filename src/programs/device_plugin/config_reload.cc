// SPDX-License-Identifier: Apache-2.0
#include "programs/device_plugin/config_reload.h"

namespace tranche::programs {

std::optional<ConfigReading> take_change(ConfigWatch& watch, Log& log) {
  const ConfigWatch::Clock::time_point now = ConfigWatch::Clock::now();
  const bool was_waiting = watch.due().has_value();
  std::optional<ConfigReading> reading = watch.take(now);
  if (!was_waiting && watch.due()) log.debug("configuration file is being changed");
  if (watch.waits_long_for_writer(now)) {
    log.warning(
        "the configuration file has changed, and a program still has it open for writing; it is "
        "read when that closes it, or at SIGHUP",
        {{"file", watch.path()}});
  }
  return reading;
}

void follow(Loop& loop, ConfigWatch& watch, Log& log,
            std::function<void(const ConfigReading&)> changed) {
  loop.add({.fd = [&watch] { return watch.fd(); },
            .due = [&watch] { return watch.due(); },
            .look =
                [&watch, &log, changed = std::move(changed)](auto) {
                  if (const auto reading = take_change(watch, log)) changed(*reading);
                }});
}

Result<Loaded> load_reading(const Sources& sources, const std::string& path,
                            const ConfigReading& reading,
                            const std::optional<ConfigChoice>& choice) {
  if (path.empty()) return load_settings(sources, std::nullopt, choice);
  if (!reading.content) return reading.content.error();
  const ConfigText text{path, *reading.content};
  if (reading.is_regular && is_blank(text)) {
    return Error{ErrorCode::kInvalidArgument,
                 path +
                     ": the file has no settings in it (comments do not count), which would end "
                     "all sharing; to run with the defaults on purpose, write 'version: v1'"};
  }
  return load_settings(sources, text, choice);
}

void log_remarks(const Loaded& loaded, Log& log) {
  for (const std::string& warning : loaded.warnings) log.warning(warning);
  for (const std::string& notice : loaded.notices) log.info(notice);
}

void log_changes(const EffectiveValues& before, const EffectiveValues& after, Log& log) {
  const std::vector<std::string> changes = changes_between(before, after);
  if (changes.empty()) log.info("the new configuration changes no setting");
  for (const std::string& change : changes) log.info("setting changed", {{"setting", change}});
}

void log_what_waits(const Settings& now, const Settings& next, Log& log) {
  if (next.driver != now.driver) {
    log.warning("another driver root takes effect at the next start",
                {{"now", now.driver.container_root}, {"then", next.driver.container_root}});
  }
  if (next.nested != now.nested) {
    log.warning("other settings of nested clusters take effect at the next start");
  }
}

}  // namespace tranche::programs
