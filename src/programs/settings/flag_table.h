// SPDX-License-Identifier: Apache-2.0
//
// Every setting of the agent that is one value. A new setting is a new row and a line in build.cc.
// Constant data: any thread.
#pragma once

#include "os/settings/option.h"

namespace tranche::programs {

OptionTable flag_table();

// The row with this flag name or alias; null: none.
inline const Option* find_flag(std::string_view name) { return find_option(flag_table(), name); }

}  // namespace tranche::programs
