// SPDX-License-Identifier: Apache-2.0
//
// Which GPU a person means: the words that `release` and `devices --gpu` take. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "core/gpu/inventory.h"

namespace tranche::programs {

// "GPU 2 (GPU-8f1c…, PCI address 0000:5e:00.0)"
std::string gpu_title(const Gpu& gpu);

// By uuid or the beginning of one, index or PCI address; a MIG device's uuid means its GPU.
// A word that names none is an error, and so is one that can mean two GPUs: the beginning of
// two uuids, or an index that is one GPU's number and another one's index at the driver.
Result<GpuUuid> gpu_named(const std::string& word, const Inventory& inventory);
Result<std::vector<GpuUuid>> gpus_named(const std::vector<std::string>& words,
                                        const Inventory& inventory);

}  // namespace tranche::programs
