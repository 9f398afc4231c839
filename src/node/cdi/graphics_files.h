// SPDX-License-Identifier: Apache-2.0
//
// Finds the driver files that only graphics programs need.
#pragma once

#include "core/cdi/driver_files.h"
#include "node/cdi/driver_root.h"

namespace tranche::node {

// Fills files.graphics for the driver of files.version.
void find_graphics_files(DriverRoot& root, DriverFiles& files);

}  // namespace tranche::node
