// SPDX-License-Identifier: Apache-2.0
#include "os/settings/option.h"

#include <cctype>

#include "base/text.h"

namespace tranche::os {

std::vector<std::string> Option::variables() const {
  std::vector<std::string> all;
  for (const std::string_view variable : environment) {
    if (!variable.empty()) all.emplace_back(variable);
  }
  if (!all.empty() || !has_variable) return all;
  std::string usual(name);
  for (char& c : usual) c = c == '-' ? '_' : static_cast<char>(std::toupper(c));
  return {usual};
}

std::vector<std::string> Option::allowed_words() const {
  if (to[0].words != nullptr) return to[0].words();
  return allowed.empty() ? std::vector<std::string>{} : split(allowed, ',');
}

const Option* find_option(OptionTable table, std::string_view name) {
  if (name.empty()) return nullptr;
  for (const Option& option : table) {
    if (option.name == name || std::ranges::find(option.aliases, name) != option.aliases.end()) {
      return &option;
    }
  }
  return nullptr;
}

std::vector<std::string> option_names(OptionTable table) {
  std::vector<std::string> names;
  for (const Option& option : table) {
    if (!option.name.empty()) names.emplace_back(option.name);
    for (const std::string_view alias : option.aliases) {
      if (!alias.empty()) names.emplace_back(alias);
    }
  }
  return names;
}

}  // namespace tranche::os
