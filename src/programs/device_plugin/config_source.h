// SPDX-License-Identifier: Apache-2.0
//
// Follows the agent's configuration: the file of --config-file, or the file of --config-dir that
// the node's label chooses. A label that is not known changes nothing. A label that names no file
// is refused, and followed when the file appears.
//
// Not thread-safe: belongs to the main thread.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "core/settings/config_choice.h"
#include "os/log.h"
#include "os/loop.h"
#include "os/paths_watch.h"
#include "os/settings/config_watch.h"
#include "programs/device_plugin/api_link.h"
#include "programs/settings/load.h"

namespace tranche::programs {

class ConfigSource {
 public:
  struct Handlers {
    // The file to load, because it or the choice has changed.
    std::function<void(const ConfigReading&)> changed;
    // What is chosen is not there.
    std::function<void(const std::string& reason)> refused;
    // in_force() has another reason, or is chosen again after a refusal; nothing is to be loaded.
    std::function<void()> chosen;
  };

  // `link` may be null without --config-dir.
  ConfigSource(const Loaded& in_force, const ApiLink* link, Log& log);

  void follow(Loop& loop, Handlers handlers);
  // The file is read again, changed or not.
  void insist();

  // Loads what `changed` gave.
  Result<Loaded> load(const Sources& sources, const ConfigReading& reading) const;
  // It is in force now.
  void took(const Loaded& loaded);

  // The file that `changed` and `refused` are about; empty: there is none.
  std::string path() const;

  // Empty without --config-dir.
  const std::optional<ConfigChoice>& in_force() const { return in_force_; }
  // "label nvidia.com/device-plugin.config=a"; empty without --config-dir.
  std::string reason() const;

 private:
  using Clock = std::chrono::steady_clock;

  void look(Clock::time_point now);
  void choose();
  void choose(const ConfigChoice& choice);
  void refuse(const std::string& reason);
  void remember();
  std::optional<std::string> label() const;

  const NamedConfigOptions options_;
  const std::string state_dir_;
  const std::string file_;     // of --config-file
  const ApiLink* const link_;  // null without --config-dir
  Log& log_;
  Handlers handlers_;

  std::optional<ConfigWatch> watch_;  // of the chosen file; empty: there is none
  PathsWatch folder_;
  Clock::time_point listed_;
  std::uint64_t seen_ = 0;              // version of the Node
  std::optional<ConfigChoice> wanted_;  // watched
  std::optional<ConfigChoice> in_force_;
  std::string in_force_text_;
  std::optional<ConfigChoice> remembered_;
  std::string problem_;  // that was refused last; empty: the choice is there
  OnChange logged_;
};

}  // namespace tranche::programs
