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
  std::vector<std::string> unknown;   // names of flags that no table has
  std::vector<std::string> problems;  // one sentence each; of the unknown ones, too
};

// What a command line may have besides the options of the table.
struct AlsoKnown {
  // Parsed as those of the table: who resolves the table alone does not see them.
  OptionTable options;
  bool version = true;  // whether the program has a --version
};
CommandLine parse_command_line(OptionTable table, const std::vector<std::string>& arguments,
                               const AlsoKnown& also = {});

// One sentence for each positional, for a command line that takes none.
std::vector<std::string> positional_problems(const CommandLine& line);

}  // namespace tranche::os
