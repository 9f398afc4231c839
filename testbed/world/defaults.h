// SPDX-License-Identifier: Apache-2.0
//
// What a world has that its file does not say. Reading starts from these and
// writing leaves out what equals them, so both must take them from here.
#pragma once

#include <cstddef>
#include <string>

#include "testbed/world/world.h"

namespace tranche::testbed::sim {

// The `position`th GPU of a world, of this model and untouched.
Gpu default_gpu(const std::string& model_key, const Model& model, std::size_t position);

// "0cbf5e3c-…": the boot id of a world that names none.
std::string default_boot_id();

}  // namespace tranche::testbed::sim
