// SPDX-License-Identifier: Apache-2.0
//
// The likely mistake in text that is not YAML: a tab, a missing space behind a colon, a pattern
// without quotes. Pure.
#pragma once

#include <string>
#include <string_view>

namespace tranche::os {

struct YamlMistake {
  unsigned line = 0;
  std::string what;
};

// `line` and `message` are the parser's; the mistake may be on an earlier line.
YamlMistake explain_yaml(std::string_view text, unsigned line, const std::string& message);

// "version: v1" for "version:v1"; empty if it does not look like that.
std::string with_space_behind_colon(std::string_view text);

}  // namespace tranche::os
