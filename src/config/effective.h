// SPDX-License-Identifier: Apache-2.0
//
// The effective configuration as a tree in the file's format, which the two
// printers (YAML and JSON) share. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "config/document.h"
#include "config/load.h"

namespace tranche {

// Remarks say where values came from.
ConfigNode effective_tree(const Loaded& loaded);

// The settings that the file cannot have, without those that have no effect
// and were not given.
std::vector<Provenance> outside_the_file(const Loaded& loaded);

}  // namespace tranche
