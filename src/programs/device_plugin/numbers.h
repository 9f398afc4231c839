// SPDX-License-Identifier: Apache-2.0
//
// The command `numbers forget`: which numbers its words name, and the answer. Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/gpu/gpu_numbers.h"
#include "core/gpu/inventory.h"

namespace tranche::programs {

// Numbers, or "all". A word that is no bound number is an error, and so are none; and so is
// the number of a GPU that is there while one of `missing` is not: the driver's indexes are
// shifted then, and the GPU would get another number.
Result<std::set<unsigned>> numbers_named(const std::vector<std::string>& words,
                                         const GpuNumbers& numbers,
                                         const std::set<unsigned>& missing = {});

// Of GPUs that are not there now.
std::set<unsigned> missing_numbers(const Inventory& inventory);

// The numbers that a running agent can forget. The error names the node.
Result<std::set<unsigned>> numbers_to_forget(const std::vector<std::string>& words,
                                             const Inventory& inventory, const std::string& node);

std::string forget_answer(const std::set<unsigned>& numbers, const std::string& node);

}  // namespace tranche::programs
