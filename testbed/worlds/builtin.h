// SPDX-License-Identifier: Apache-2.0
//
// The worlds of this folder, by the names of their files without ".yaml".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "testbed/world/world.h"

namespace tranche::testbed::sim {

struct BuiltinText {
  std::string name;
  std::string text;
};
std::vector<BuiltinText> builtin_texts();

// Error: no such world; says which was meant.
Result<World> builtin_world(std::string_view name);

// What the comment on top of a world's file says of it, in one line.
std::string summary_of(const BuiltinText& world);

}  // namespace tranche::testbed::sim
