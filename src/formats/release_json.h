// SPDX-License-Identifier: Apache-2.0
//
// A release as JSON text, for released.json in the state folder. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "core/health/release.h"

namespace tranche::formats {

std::string to_json(const ReleaseMemory& release);
Result<ReleaseMemory> parse_release_memory(std::string_view text);

}  // namespace tranche::formats
