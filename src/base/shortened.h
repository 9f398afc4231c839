// SPDX-License-Identifier: Apache-2.0
//
// A text of limited length. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tranche::base {

// At most `most` bytes of it, ending in … where it was longer; whole characters only.
std::string shortened(std::string_view text, std::size_t most);

}  // namespace tranche::base
