// SPDX-License-Identifier: Apache-2.0
//
// Flags of single commands, which are not settings and so are not in the flag
// table. Written as all flags are: one dash or two, the value behind = or a
// space. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tranche::programs {

// Takes the flags of these names with their values out of the arguments, and
// gives the last value; empty when there is none. Names have no dashes.
Result<std::optional<std::string>> take_value(std::vector<std::string>& arguments,
                                              const std::vector<std::string_view>& names);

// Takes a flag without a value out of the arguments; says whether it was there.
bool take_switch(std::vector<std::string>& arguments, std::string_view name);

}  // namespace tranche::programs
