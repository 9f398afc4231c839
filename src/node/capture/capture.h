// SPDX-License-Identifier: Apache-2.0
//
// Reads everything of a node that the simulated driver can play. For people on
// a command line: a call that hangs hangs it.
#pragma once

#include "base/result.h"
#include "core/settings/driver_options.h"
#include "node/capture/captured.h"
#include "node/driver/kernel_files.h"

namespace tranche::node {

Result<CapturedNode> capture_node(const DriverOptions& options, const KernelFiles& host);

}  // namespace tranche::node
