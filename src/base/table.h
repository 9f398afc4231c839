// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tranche::base {

// Rows of text as aligned columns for people. The first row is the heading. Lines have no
// trailing spaces.
std::string to_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace tranche::base
