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

// In bytes: a whole number of MiB, from 1 to kMostMemory. Refuses units of thousands (GB, G),
// because they are ambiguous.
Result<std::uint64_t> parse_memory_size(std::string_view text);

// The same, but the number is optional: GiB is 1GiB.
Result<std::uint64_t> parse_memory_unit(std::string_view text);

// The shortest text for this size: "4GiB", "1536MiB".
std::string memory_size_text(std::uint64_t bytes);

// More than any GPU has; sums of a few do not overflow.
constexpr std::uint64_t kMostMemory = 16ULL << 40U;

}  // namespace tranche::os
