// SPDX-License-Identifier: Apache-2.0
//
// The uuid of an NVLink fabric's cluster, as text.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <string>

namespace tranche::node::nvml {

// Empty where all bytes are 0: the fabric is a single node.
inline std::string cluster_uuid_text(std::span<const unsigned char, 16> uuid) {
  if (std::ranges::all_of(uuid, [](unsigned char byte) { return byte == 0; })) return "";
  std::string text;
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    const bool dash = i == 4 || i == 6 || i == 8 || i == 10;
    text += fmt::format("{}{:02x}", dash ? "-" : "", uuid[i]);
  }
  return text;
}

}  // namespace tranche::node::nvml
