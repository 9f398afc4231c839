// SPDX-License-Identifier: Apache-2.0
//
// Finds the device nodes that GPU containers may need.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/cdi/driver_files.h"
#include "core/gpu/inventory.h"

namespace tranche::node {

// Fills nodes, drm and drm_links. Takes nodes from the first root with a node of the NVIDIA driver,
// else from the first with a /dev. The kernel's mapping of graphics nodes to GPUs is below
// `sys_root`.
void find_device_nodes(const Inventory& inventory, const std::vector<std::string>& roots,
                       const std::string& sys_root, DriverFiles& files);

}  // namespace tranche::node
