// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tranche::base {

// Rows of text as columns for people, each as wide as its widest cell. The
// first row is the heading. No space at the ends of lines.
std::string to_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace tranche::base
