// SPDX-License-Identifier: Apache-2.0
//
// The options of a program without a configuration file: with its table alone a program reads
// its command line, checks it and explains itself (option_help.h). Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "os/settings/resolve.h"

namespace tranche::os {

struct GivenOptions {
  Resolved values;
  bool wants_help = false;  // then all values are defaults
};

// The error's message has a line for each problem. Words that belong to no option are one.
Result<GivenOptions> read_options(OptionTable table, const std::vector<std::string>& arguments,
                                  const Environment& environment = {});

// The same in the struct that the table's fields are of. It has a member `help`.
template <typename Flags>
Result<Flags> read_flags(OptionTable table, const std::vector<std::string>& arguments) {
  const Result<GivenOptions> given = read_options(table, arguments);
  if (!given) return given.error();
  Flags flags;
  given->values.fill(flags);
  flags.help = given->wants_help;
  return flags;
}

}  // namespace tranche::os
