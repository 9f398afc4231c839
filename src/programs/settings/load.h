// SPDX-License-Identifier: Apache-2.0
//
// Configuration from all its sources to one checked Settings. A flag wins over
// the environment, the environment over the file, the file over the default;
// where each value came from is kept. Nothing here reads the environment of
// the process by itself.
//
// Pure, but for the load_settings that reads the file: any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/settings/settings.h"
#include "os/settings/document.h"
#include "os/settings/effective.h"
#include "os/settings/option.h"

namespace tranche::programs {

struct Sources {
  std::vector<std::string> arguments;  // without the program and the sub-command
  std::map<std::string, std::string> environment;
  bool allow_positionals = false;  // words that belong to no flag; else an error
  std::string program;             // what it is called by: may choose the profile
  // Of the command: taken among the arguments, and left to it.
  OptionTable command_options;
};

struct Loaded {
  Settings settings;
  std::vector<Provenance> provenance;    // every setting, in the order of the documentation
  std::vector<std::string> notices;      // not wrong, but worth a line in the log
  std::vector<std::string> warnings;     // taken, but most likely not what was meant
  std::vector<std::string> positionals;  // when they are allowed
  std::string file_text;                 // of the file, where there is one
  bool wants_help = false;               // then nothing else here counts
  bool wants_version = false;            // the same
};

// Reads the file that the sources name, if they name one. The error's message
// has a line for each problem. To reload, call it again with the same sources.
Result<Loaded> load_settings(const Sources& sources);

// The same with the file's content given; without one, as if none were named.
Result<Loaded> load_settings(const Sources& sources, const std::optional<ConfigText>& file);

// The configuration file that the sources name; empty: none.
std::string config_file_of(const Sources& sources);

// Whether the file says nothing: it is empty, or has only comments.
bool is_blank(const ConfigText& file);

// The effective configuration in the file's own format, with a remark at each
// value that says where it came from. Settings that the file cannot have
// follow as comments. Loading it again gives the same Settings.
std::string effective_yaml(const Loaded& loaded);

// The same for programs: "configuration" in the file's format, "notInFile",
// "origins" by setting, "notices" and "warnings".
std::string effective_json(const Loaded& loaded);

// Each value by its key, for the log's list of changes.
EffectiveValues effective_values(const Loaded& loaded);

}  // namespace tranche::programs
