// SPDX-License-Identifier: Apache-2.0
//
// Reads everything of a node that the simulated driver can play. For people on
// a command line: a call that hangs hangs it.
#pragma once

#include "base/result.h"
#include "capture/captured.h"
#include "host/host_files.h"
#include "nvml/options.h"

namespace tranche {

Result<CapturedNode> capture_node(const DriverOptions& options, const HostFiles& host);

}  // namespace tranche
