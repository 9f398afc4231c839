// SPDX-License-Identifier: Apache-2.0
//
// Reads /gpu.env: the GPUs that a host granted, as a script or a person wrote
// them down. The usual form is one line of uuids with commas between them; taken
// are also spaces, carriage returns and several lines, comments behind #,
// NAME=value as in files that a shell reads, quotes, indexes, and the ids of
// shares. Pure.
#pragma once

#include <string_view>

#include "base/result.h"
#include "core/nested/gpu_env_list.h"

namespace tranche::formats {

// An empty file grants nothing, and so do "none" and "void". What cannot be a
// list of GPUs is an error and never a shorter list.
Result<GpuEnv> parse_gpu_env(std::string_view text);

}  // namespace tranche::formats
