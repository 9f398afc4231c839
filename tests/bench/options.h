// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace tranche::bench {

struct Options {
  bool quick = false;
  bool json = false;
  bool help = false;

  bool operator==(const Options&) const = default;
};

Result<Options> parse_options(const std::vector<std::string>& words);

std::string help_text();

}  // namespace tranche::bench
