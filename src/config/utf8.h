// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace tranche {

// Length of the longest prefix that is valid UTF-8 (no overlong forms, no
// surrogates). All of it when that is text.size().
std::size_t valid_utf8_prefix(std::string_view text);

}  // namespace tranche
