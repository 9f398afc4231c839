// SPDX-License-Identifier: Apache-2.0
//
// Loads the configuration from all sources into checked Settings. A flag overrides the environment,
// that the file, that the default; the origin of each value is kept. Never reads the environment of
// the process itself.
//
// Pure, except for the load_settings that reads the file: any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/settings/config_choice.h"
#include "core/settings/settings.h"
#include "os/settings/document.h"
#include "os/settings/effective.h"
#include "os/settings/option.h"

namespace tranche::programs {

struct Sources {
  std::vector<std::string> arguments;  // without the program and the sub-command
  std::map<std::string, std::string> environment;
  bool allow_positionals = false;  // words without a flag; else an error
  std::string program;             // its name; may choose the profile
  // Of the command: taken among the arguments, and left to it.
  OptionTable command_options;
};

struct Loaded {
  Settings settings;
  std::vector<Provenance> provenance;    // every setting, in the order of the documentation
  std::vector<std::string> notices;      // valid, but worth a line in the log
  std::vector<std::string> warnings;     // accepted, but probably a mistake
  std::vector<std::string> positionals;  // if allowed
  std::string file_text;                 // empty: no file
  std::optional<ConfigChoice> choice;    // with --config-dir: which file, and why
  bool wants_help = false;               // then ignore the rest
  bool wants_version = false;            // likewise
};

// Reads the file that the sources name, if any. The error has one line per problem. To reload, call
// it again with the same sources. With --config-dir no file is read: choose one first.
Result<Loaded> load_settings(const Sources& sources);

// The same with the file's content; without it, as if no file were named. `choice` is why it is
// this file of --config-dir.
Result<Loaded> load_settings(const Sources& sources, const std::optional<ConfigText>& file,
                             const std::optional<ConfigChoice>& choice = std::nullopt);

// The configuration file that the sources name; empty: none.
std::string config_file_of(const Sources& sources);

// Whether the file is empty or has only comments.
bool is_blank(const ConfigText& file);

// The effective configuration in the file's format, with the origin of each value as a remark.
// Settings that the file cannot have follow as comments. Loading it again gives the same Settings.
std::string effective_yaml(const Loaded& loaded);

// The same for programs: "configuration" in the file's format, "notInFile",
// "origins" by setting, "notices" and "warnings".
std::string effective_json(const Loaded& loaded);

// Each value by its key, for the log's list of changes.
EffectiveValues effective_values(const Loaded& loaded);

}  // namespace tranche::programs
