// SPDX-License-Identifier: Apache-2.0
//
// Reads the kubelet's checkpoint from its file.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "formats/checkpoint.h"

namespace tranche::node {

// A missing file is kNotFound.
Result<std::vector<Holding>> read_checkpoint(const std::string& path,
                                             const std::set<std::string>& resources);

Result<std::set<std::string>> read_checkpoint_mounts(const std::string& path,
                                                     const std::string& folder);

}  // namespace tranche::node
