// SPDX-License-Identifier: Apache-2.0
//
// The labels of a node, as a value: label to text, sorted.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace tranche::core {

using NodeLabels = std::map<std::string, std::string>;

// Kubernetes' rule for a label's value: at most 63 of A-Z a-z 0-9 - _ . with a letter or digit
// at both ends; or nothing.
bool is_label_value(std::string_view text);

// Drops what a label's value must not have and puts a dash for each run of blanks, as GFD does.
std::string label_text(std::string_view text);

// `name` and `suffix` as one value. Where both are too long, the name is cut, because the suffix
// says what a pod gets.
std::string label_value(std::string_view name, std::string_view suffix);

}  // namespace tranche::core
