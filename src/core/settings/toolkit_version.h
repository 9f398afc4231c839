// SPDX-License-Identifier: Apache-2.0
//
// A version of NVIDIA's container toolkit. Pure.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace tranche::core {

struct ToolkitVersion {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned patch = 0;

  auto operator<=>(const ToolkitVersion&) const = default;
};

std::string to_string(const ToolkitVersion& version);

// "1.17.8", "v1.18.0", "1.18"; what follows the numbers ("-rc.1") is ignored.
std::optional<ToolkitVersion> parse_toolkit_version(std::string_view text);

}  // namespace tranche::core
