// SPDX-License-Identifier: Apache-2.0
//
// Text fitted to a terminal. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tranche::demo {

// In lines of at most `width` columns, broken at spaces; 0 is no limit. A word
// that is wider stays whole, so that it can be copied.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

// "GPU-8f1c2d3e" for a GPU's whole uuid, and so for MIG devices. The columns
// right of a table's UUID column move with it.
std::string shorten_uuids(const std::string& text);

// A line of the agent's log without its time.
std::string_view without_time(std::string_view log_line);

}  // namespace tranche::demo
