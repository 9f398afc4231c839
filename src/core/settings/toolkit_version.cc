// SPDX-License-Identifier: Apache-2.0
#include "core/settings/toolkit_version.h"

#include <fmt/core.h>

#include <array>
#include <vector>

#include "base/text.h"

namespace tranche::core {

std::string to_string(const ToolkitVersion& version) {
  return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

std::optional<ToolkitVersion> parse_toolkit_version(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  const std::vector<std::string> parts =
      split(text.substr(0, text.find_first_not_of("0123456789.")), '.');
  if (parts.size() < 2 || parts.size() > 3) return std::nullopt;
  std::array<unsigned, 3> numbers{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto number = parse_number<unsigned>(parts[i]);
    if (!number) return std::nullopt;
    numbers.at(i) = *number;
  }
  return ToolkitVersion{numbers[0], numbers[1], numbers[2]};
}

}  // namespace tranche::core
