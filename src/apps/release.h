// SPDX-License-Identifier: Apache-2.0
//
// The command `release`: which GPUs its words name, and what its caller is told.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/inventory.h"

namespace tranche {

// By uuid, index or PCI address. A word that names none is an error, and so is an
// index that is one GPU's number and another one's index at the driver.
Result<std::vector<GpuUuid>> gpus_named(const std::vector<std::string>& words,
                                        const Inventory& inventory);

struct ReleaseCircumstances {
  bool all_gpus = true;
  bool has_mps_daemons = false;
  bool follows_kernel_log = false;
};
std::string release_answer(const ReleaseCircumstances& circumstances);

}  // namespace tranche
