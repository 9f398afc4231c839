// SPDX-License-Identifier: Apache-2.0
//
// The driver's return codes by name, for people who write faults.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tranche::testbed::sim {

// "15", "gpu_is_lost" or "GPU_IS_LOST".
std::optional<int> parse_code(std::string_view text);
std::string code_name(int code);
std::vector<std::string> code_names();

}  // namespace tranche::testbed::sim
