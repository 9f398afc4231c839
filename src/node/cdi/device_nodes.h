// SPDX-License-Identifier: Apache-2.0
//
// The device nodes that GPU containers may need, as found below a root.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/cdi/driver_files.h"
#include "core/gpu/inventory.h"

namespace tranche::node {

// Fills nodes, drm and drm_links. Nodes are taken from below the first root
// that has any node of the NVIDIA driver; when none has, from the first with a
// /dev. The kernel's word on which graphics node belongs to which GPU is below
// `sys_root`.
void find_device_nodes(const Inventory& inventory, const std::vector<std::string>& roots,
                       const std::string& sys_root, DriverFiles& files);

}  // namespace tranche::node
