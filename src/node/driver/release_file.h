// SPDX-License-Identifier: Apache-2.0
//
// released.json in the state folder.
#pragma once

#include <string>

#include "base/result.h"
#include "core/health/release.h"

namespace tranche::node {

// kNotFound: nothing is released.
std::string release_path(const std::string& state_dir);
Result<ReleaseMemory> read_release(const std::string& path);
Status write_release(const std::string& path, const ReleaseMemory& release);
Status remove_release(const std::string& path);

}  // namespace tranche::node
