// SPDX-License-Identifier: Apache-2.0
//
// Sizes of GPU memory as people write them: 4GiB, 512MiB, 1.5GiB, and 4Gi, 512Mi
// as Kubernetes does. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tranche::os {

// In bytes: a whole number of MiB, at least one, at most kMostMemory. Units of
// thousands (GB, G) are refused: what they would mean is a guess.
Result<std::uint64_t> parse_memory_size(std::string_view text);

// The same, where the number may be left out: GiB is 1GiB.
Result<std::uint64_t> parse_memory_unit(std::string_view text);

// The shortest text that is read as this size: "4GiB", "1536MiB".
std::string memory_size_text(std::uint64_t bytes);

// No GPU has as much, and no sum of some overflows.
constexpr std::uint64_t kMostMemory = 16ULL << 40U;

}  // namespace tranche::os
