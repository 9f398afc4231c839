// SPDX-License-Identifier: Apache-2.0
//
// The units of memory that `auto` has chosen, in a file that outlives us. What
// cannot be read or written is told, and costs no more than that.
#pragma once

#include <string>

#include "base/log.h"
#include "sharing/memory_unit.h"

namespace tranche {

KeptUnits read_kept_units(const std::string& path, const Log& log);

// Writes what is new, and says which units have grown.
void keep_units(const std::string& path, const KeptUnits& before, const KeptUnits& now,
                const Log& log);

}  // namespace tranche
