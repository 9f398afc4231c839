// SPDX-License-Identifier: Apache-2.0
//
// Finds the driver's files and device nodes on this node.
#pragma once

#include <string>

#include "core/cdi/driver_files.h"

namespace tranche::node {

// Looks at the file system. The driver root is options.container_driver_root
// or, where that holds no driver, `host_root`; the same for device nodes, each
// on its own. What cannot be read is as if it were not there. Touches nothing;
// a few milliseconds, and may block where a file system does.
DriverFiles find_driver_files(const Inventory& inventory, const CdiOptions& options,
                              const std::string& host_root = "/");

}  // namespace tranche::node
