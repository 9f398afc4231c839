// SPDX-License-Identifier: Apache-2.0
//
// The command line, as Go's flag package reads it: one dash or two, `=` or the
// next word, booleans never with the next word. Which values are right is not
// decided here. Pure.
#pragma once

#include <string>
#include <vector>

#include "os/settings/option.h"

namespace tranche::os {

struct GivenFlag {
  const Option* flag = nullptr;
  std::string value;
  std::string as_written;  // "--mig-strategy=mixed", "-v 4"
};

struct CommandLine {
  std::vector<GivenFlag> flags;          // in order, repeated ones too
  std::vector<std::string> positionals;  // words that belong to no flag
  bool wants_help = false;
  bool wants_version = false;
  std::vector<std::string> problems;  // one sentence each
};

CommandLine parse_command_line(OptionTable table, const std::vector<std::string>& arguments);

}  // namespace tranche::os
