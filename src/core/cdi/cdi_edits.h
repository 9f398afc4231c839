// SPDX-License-Identifier: Apache-2.0
//
// Turns files and nodes into container edits: paths as the host's runtime sees them, mount
// options, groups. Pure.
#pragma once

#include <string>
#include <vector>

#include "core/cdi/cdi_spec.h"
#include "core/cdi/driver_files.h"
#include "core/settings/cdi_options.h"

namespace tranche::core {

// The nodes, and the groups that may open them.
CdiEdits node_edits(const std::vector<DeviceNode>& nodes, const CdiOptions& options);

// Read-only mounts of driver files.
std::vector<CdiMount> file_mounts(const std::vector<DriverFile>& files, const CdiOptions& options);

// Edits for every container with a GPU, besides the GPU's own nodes.
CdiEdits common_gpu_edits(const DriverFiles& files, const CdiOptions& options);

// A variable that tells NVIDIA's older runtimes, which inject devices by it, that this is already
// done.
std::string already_injected();

}  // namespace tranche::core
