// SPDX-License-Identifier: Apache-2.0
//
// Finds the driver's files and device nodes on this node.
#pragma once

#include <string>

#include "core/cdi/driver_files.h"

namespace tranche::node {

// The driver root is options.container_driver_root or, if that has no driver, `host_root`; likewise
// for device nodes, independently. Ignores what cannot be read. Takes a few milliseconds, and may
// block if a file system does.
DriverFiles find_driver_files(const Inventory& inventory, const CdiOptions& options,
                              const std::string& host_root = "/");

}  // namespace tranche::node
