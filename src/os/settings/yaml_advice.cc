// SPDX-License-Identifier: Apache-2.0
#include "os/settings/yaml_advice.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "base/text.h"
#include "os/settings/values.h"

namespace tranche::os {
namespace {

struct Advice {
  std::string_view message;  // the parser's
  std::string_view meaning;
};
constexpr std::array kAdvice = {
    Advice{"illegal map value",
           "a key where none can be: keys of one section begin in the same column, and a value "
           "with a colon and a space in it needs quotes"},
    Advice{"the referenced anchor is not defined",
           "a value that begins with * needs quotes, such as \"*T4*\"; without them it is an alias "
           "of an anchor, and there is none of that name"},
    Advice{"end of map flow not found", "the closing } is missing"},
    Advice{"end of sequence flow not found", "the closing ] is missing"},
    Advice{"end of map not found",
           "a line that belongs to no key: keys of one section begin in the same column"},
    Advice{"end of sequence not found",
           "a line that belongs to no row: the dashes of one list begin in the same column"},
};

bool is_tabbed(std::string_view line) {
  const std::size_t start = line.find_first_not_of(" \t");
  const std::string_view indent = line.substr(0, start);
  return start != line.npos && line[start] != '#' && indent.find('\t') != indent.npos;
}

bool is_key(std::string_view text) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  return !text.empty() && text.find_first_not_of(kLetters) == text.npos;
}

}  // namespace

std::string with_space_behind_colon(std::string_view text) {
  text = trim(text);
  while (text.starts_with("- ")) text = trim(text.substr(2));
  const std::size_t colon = text.find(':');
  if (colon == text.npos || colon + 1 >= text.size()) return "";
  const std::string_view value = text.substr(colon + 1);
  if (!is_key(text.substr(0, colon)) || value.front() == ' ' || value.starts_with("//")) return "";
  return fmt::format("{}: {}", text.substr(0, colon), value);
}

YamlMistake explain_yaml(std::string_view text, unsigned line, const std::string& message) {
  const std::vector<std::string> lines = split(text, '\n');
  const std::size_t last = std::min<std::size_t>(line, lines.size());
  for (std::size_t i = 0; i < last; ++i) {
    if (!is_tabbed(lines[i])) continue;
    return {static_cast<unsigned>(i + 1), "not YAML: the line is indented with a tab; use spaces"};
  }
  // A key without a space turns the line into a text, and the next line is an error.
  std::size_t blamed = last;
  for (unsigned looked = 0; blamed > 0 && looked < 2; --blamed) {
    if (trim(lines[blamed - 1]).empty()) continue;
    ++looked;
    if (const std::string spaced = with_space_behind_colon(lines[blamed - 1]); !spaced.empty()) {
      return {static_cast<unsigned>(blamed),
              fmt::format("not YAML: the space behind the colon is missing; write '{}'",
                          brief(spaced))};
    }
  }
  const auto* found = std::ranges::find(kAdvice, message, &Advice::message);
  const std::string meaning = found == kAdvice.end() ? message : std::string(found->meaning);
  return {line, "not YAML: " + meaning};
}

}  // namespace tranche::os
