// SPDX-License-Identifier: Apache-2.0
//
// GPU numbers as JSON text, for a file in the state folder.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "core/gpu/gpu_numbers.h"

namespace tranche::formats {

std::string to_json(const GpuNumbers& numbers);

// An error unless each number, each PCI address and each uuid is there once.
Result<GpuNumbers> parse_gpu_numbers(std::string_view text);

}  // namespace tranche::formats
