// SPDX-License-Identifier: Apache-2.0
#include "testbed/world/codes.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace tranche::testbed::sim {
namespace {

struct Code {
  int number;
  std::string_view name;
};

constexpr std::array<Code, 32> kCodes = {{
    {0, "success"},
    {1, "uninitialized"},
    {2, "invalid_argument"},
    {3, "not_supported"},
    {4, "no_permission"},
    {5, "already_initialized"},
    {6, "not_found"},
    {7, "insufficient_size"},
    {8, "insufficient_power"},
    {9, "driver_not_loaded"},
    {10, "timeout"},
    {11, "irq_issue"},
    {12, "library_not_found"},
    {13, "function_not_found"},
    {14, "corrupted_inforom"},
    {15, "gpu_is_lost"},
    {16, "reset_required"},
    {17, "operating_system"},
    {18, "lib_rm_version_mismatch"},
    {19, "in_use"},
    {20, "memory"},
    {21, "no_data"},
    {22, "vgpu_ecc_not_supported"},
    {23, "insufficient_resources"},
    {24, "freq_not_supported"},
    {25, "argument_version_mismatch"},
    {26, "deprecated"},
    {27, "not_ready"},
    {28, "gpu_not_found"},
    {29, "invalid_state"},
    {30, "reset_type_not_supported"},
    {999, "unknown"},
}};

}  // namespace

std::optional<int> parse_code(std::string_view text) {
  const std::string word = lower(text);
  const auto number = parse_number<int>(word);
  const auto found = std::ranges::find_if(kCodes, [&](const Code& code) {
    return code.name == word || (number && code.number == *number);
  });
  if (found == kCodes.end()) return std::nullopt;
  return found->number;
}

std::string code_name(int code) {
  const auto found = std::ranges::find(kCodes, code, &Code::number);
  return found == kCodes.end() ? std::to_string(code) : std::string(found->name);
}

std::vector<std::string> code_names() {
  std::vector<std::string> names;
  names.reserve(kCodes.size());
  for (const Code& code : kCodes) names.emplace_back(code.name);
  return names;
}

}  // namespace tranche::testbed::sim
