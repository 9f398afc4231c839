// SPDX-License-Identifier: Apache-2.0
#include "core/gpu/mig_profile.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"

namespace tranche::core {
namespace {

// The number before `unit`, and takes both off the text.
std::optional<unsigned> take_number(std::string_view& text, std::string_view unit) {
  const std::size_t end = text.find(unit);
  if (end == std::string_view::npos) return std::nullopt;
  const std::optional<unsigned> number = parse_number<unsigned>(text.substr(0, end));
  if (number) text.remove_prefix(end + unit.size());
  return number;
}

}  // namespace

std::string to_string(const MigProfile& profile) {
  std::string text;
  if (!fills_its_instance(profile)) text = fmt::format("{}c.", profile.compute_slices);
  return fmt::format("{}{}g.{}gb{}", text, profile.gpu_slices, profile.memory_gb,
                     profile.attribute);
}

std::optional<MigProfile> parse_mig_profile(std::string_view text) {
  const std::optional<unsigned> compute = take_number(text, "c.");
  const std::optional<unsigned> slices = take_number(text, "g.");
  const std::optional<unsigned> memory = take_number(text, "gb");
  if (!slices || !memory) return std::nullopt;
  return MigProfile{compute.value_or(*slices), *slices, *memory, std::string(text)};
}

std::string resource_form(const MigProfile& profile) {
  std::string text = to_string(profile);
  std::ranges::replace(text, '+', '.');
  return text;
}

bool fills_its_instance(const MigProfile& profile) {
  return profile.compute_slices == profile.gpu_slices;
}

unsigned mig_memory_gb(std::uint64_t slice_mib, std::uint64_t gpu_bytes) {
  if (gpu_bytes == 0) return 0;
  constexpr std::uint64_t kGib = 1ULL << 30;
  const std::uint64_t slice_bytes = slice_mib << 20;
  const std::uint64_t eighths = (8 * slice_bytes + gpu_bytes - 1) / gpu_bytes;
  const std::uint64_t gpu_gib = (gpu_bytes + kGib - 1) / kGib;
  return static_cast<unsigned>((eighths * gpu_gib + 4) / 8);  // rounds half up
}

}  // namespace tranche::core
