// SPDX-License-Identifier: Apache-2.0
//
// Reads everything of a node that the simulated driver can simulate. For the command line only: it
// blocks if a driver call hangs.
#pragma once

#include "base/result.h"
#include "core/settings/driver_options.h"
#include "node/capture/captured.h"
#include "node/driver/kernel_files.h"

namespace tranche::node {

Result<CapturedNode> capture_node(const DriverOptions& options, const KernelFiles& kernel);

}  // namespace tranche::node
