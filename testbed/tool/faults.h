// SPDX-License-Identifier: Apache-2.0
//
// `tranche-sim fault`: from words to the change they mean. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "testbed/tool/arguments.h"
#include "testbed/world/changes.h"

namespace tranche::testbed::sim {

// `verb` and the rest of the words. Plugging a card in needs to know how many
// there are, so the world as it is comes along.
Result<Change> parse_fault(const std::string& verb, Arguments& arguments, const World& world);

// A line for each verb, for the help.
std::string fault_help();

}  // namespace tranche::testbed::sim
