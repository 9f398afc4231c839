// SPDX-License-Identifier: Apache-2.0
#include "programs/device_plugin/own_flags.h"

#include <algorithm>

namespace tranche::programs {
namespace {

// "--output=json" is "output"; empty: not a flag.
std::string_view name_of(std::string_view argument) {
  if (!argument.starts_with('-')) return {};
  argument.remove_prefix(argument.starts_with("--") ? 2 : 1);
  return argument.substr(0, argument.find('='));
}

}  // namespace

Result<std::optional<std::string>> take_value(std::vector<std::string>& arguments,
                                              const std::vector<std::string_view>& names) {
  std::optional<std::string> value;
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const std::string_view name = name_of(argument);
    const std::size_t equals = argument.find('=');
    if (name.empty() || std::ranges::find(names, name) == names.end()) {
      rest.push_back(argument);
    } else if (equals != std::string::npos) {
      value = argument.substr(equals + 1);
    } else if (i + 1 < arguments.size()) {
      value = arguments[++i];
    } else {
      return Error{ErrorCode::kInvalidArgument, argument + ": needs a value"};
    }
  }
  arguments = std::move(rest);
  return value;
}

bool take_switch(std::vector<std::string>& arguments, std::string_view name) {
  return std::erase_if(arguments, [&](const std::string& word) {
           return name_of(word) == name && word.find('=') == std::string::npos;
         }) > 0;
}

}  // namespace tranche::programs
