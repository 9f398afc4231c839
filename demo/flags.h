// SPDX-License-Identifier: Apache-2.0
//
// The words behind `tranche-demo`. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace tranche::demo {

struct Flags {
  bool once = false;  // end after the story
  bool fast = false;  // no pauses for reading
  bool help = false;
  std::string agent;  // the binary to run; empty: the build's own
};

Result<Flags> parse_flags(const std::vector<std::string>& words);
std::string usage();

}  // namespace tranche::demo
