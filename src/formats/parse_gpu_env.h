// SPDX-License-Identifier: Apache-2.0
//
// Reads /gpu.env: the GPUs that a host granted, as a script or a person wrote them. The usual
// form is one line of uuids with commas. Also accepted: spaces, carriage returns and several
// lines, comments behind #, NAME=value as in shell files, quotes, indexes, and share ids. Pure.
#pragma once

#include <string_view>

#include "base/result.h"
#include "core/nested/gpu_env_list.h"

namespace tranche::formats {

// An empty file grants nothing, and so do "none" and "void". Anything that cannot be a list of
// GPUs is an error, never a shorter list.
Result<GpuEnv> parse_gpu_env(std::string_view text);

}  // namespace tranche::formats
