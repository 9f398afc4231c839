// SPDX-License-Identifier: Apache-2.0
//
// Reads the kubelet's own record of devices, kubelet_internal_checkpoint in its device-plugins
// folder: the devices of each container, init containers included. It identifies a pod only by
// its uid.
//
// The file's checksum is not checked. It is a hash of what Go prints for the kubelet's private
// structures, which differ between versions. A torn file is invalid JSON anyway, and the kubelet
// replaces the file in one step.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/ledger/ledger.h"

namespace tranche::formats {

// The holdings of these resources, or of all if none is named; sorted. Text that is not a whole
// checkpoint is an error, never a shorter list.
Result<std::vector<Holding>> parse_checkpoint(std::string_view text,
                                              const std::set<std::string>& resources);

// Host paths below `folder` that the plugins' answers mount into containers.
Result<std::set<std::string>> parse_checkpoint_mounts(std::string_view text,
                                                      const std::string& folder);
}  // namespace tranche::formats
