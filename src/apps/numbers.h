// SPDX-License-Identifier: Apache-2.0
//
// The command `numbers forget`: which numbers its words name, and the answer. Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/gpu_numbers.h"

namespace tranche {

// Numbers, or "all". A word that is no bound number is an error, and so are none.
Result<std::set<unsigned>> numbers_named(const std::vector<std::string>& words,
                                         const GpuNumbers& numbers);

std::string forget_answer(const std::set<unsigned>& numbers);

}  // namespace tranche
