// SPDX-License-Identifier: Apache-2.0
//
// Which source's value of an option holds: a flag wins over the environment, that
// over the file, and that over the default. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "os/settings/command_line.h"
#include "os/settings/document.h"
#include "os/settings/file_problems.h"
#include "os/settings/resolved.h"

namespace tranche::os {

using Environment = std::map<std::string, std::string>;

struct FileValue {
  Value value;
  Origin origin;
};
using FileValues = std::map<std::string_view, FileValue>;  // by Option::key

// What a file says about the options. What is not of an option's type was reported by
// shape.h and is skipped.
FileValues read_file_values(OptionTable table, const ConfigNode& root, FileProblems& problems);

struct Resolution {
  Resolved settings;
  std::vector<std::string> problems;
};
Resolution resolve(OptionTable table, const CommandLine& line, const Environment& environment,
                   const FileValues& file);

}  // namespace tranche::os
