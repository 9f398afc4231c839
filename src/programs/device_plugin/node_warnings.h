// SPDX-License-Identifier: Apache-2.0
//
// What check-config says of a configuration that matches no GPU of the node. Pure.
#pragma once

#include <string>
#include <vector>

#include "programs/settings/load.h"

namespace tranche::programs {

// The catalog's notes, each with the file and line of its row, where it has one. A note on a
// name that the file's own warnings have is left out.
std::vector<std::string> node_warnings(const Loaded& loaded, const std::vector<std::string>& notes);

}  // namespace tranche::programs
