// SPDX-License-Identifier: Apache-2.0
//
// Helpers to load a configuration in a test.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "programs/settings/load.h"

namespace tranche::programs::testing {

inline constexpr const char* kFile = "config.yaml";

inline Result<Loaded> load_file(const std::string& content,
                                const std::vector<std::string>& arguments = {},
                                const std::map<std::string, std::string>& environment = {}) {
  return load_settings(Sources{arguments, environment}, ConfigText{kFile, content});
}

inline Result<Loaded> load_flags(const std::vector<std::string>& arguments) {
  return load_settings(Sources{arguments, {}}, std::nullopt);
}

inline Result<Loaded> load_variables(const std::map<std::string, std::string>& environment) {
  return load_settings(Sources{{}, environment}, std::nullopt);
}

// Loads as the program of this name, without a file.
inline Result<Loaded> load_as(const std::string& program,
                              const std::vector<std::string>& arguments = {},
                              const std::map<std::string, std::string>& environment = {}) {
  return load_settings(
      Sources{.arguments = arguments, .environment = environment, .program = program},
      std::nullopt);
}

// The error message; "loaded" if there is no error.
inline std::string problem_of(const Result<Loaded>& loaded) {
  return loaded ? "loaded" : loaded.error().message;
}

// The setting with this flag or variable name; null: none.
inline const Provenance* find_setting(const Loaded& loaded, const std::string& name) {
  for (const Provenance& setting : loaded.provenance) {
    if (setting.setting == name) return &setting;
  }
  return nullptr;
}

// The settings without any configuration.
inline Settings default_settings() {
  Settings settings;
  settings.state_dir = "/var/lib/kubelet/device-plugins/tranche";
  return settings;
}

}  // namespace tranche::programs::testing
