// SPDX-License-Identifier: Apache-2.0
//
// The profile of a MIG device: "1g.5gb", "1c.3g.20gb", "1g.24gb+me.all". NVIDIA's naming rules;
// resource names derive from them.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tranche::core {

struct MigProfile {
  unsigned compute_slices = 0;
  unsigned gpu_slices = 0;
  unsigned memory_gb = 0;
  // "+me", "+me.all", "+gfx", "-me" or nothing.
  std::string attribute;

  auto operator<=>(const MigProfile&) const = default;
};

// "1g.5gb+me"; "1c.3g.20gb" if the compute instance is smaller than its GPU instance.
std::string to_string(const MigProfile& profile);
// Parses what to_string() writes.
std::optional<MigProfile> parse_mig_profile(std::string_view text);

// As part of a resource name, where `+` is not allowed: "1g.5gb.me".
std::string resource_form(const MigProfile& profile);

// Whether the device fills its GPU instance. Only those have their own resource in NVIDIA's mixed
// strategy.
bool fills_its_instance(const MigProfile& profile);

// The number before "gb": the slice's share of the GPU's memory in eighths,
// times the GPU's memory in GiB, rounded. So H200 slices are 18, 35, 71, 141.
unsigned mig_memory_gb(std::uint64_t slice_mib, std::uint64_t gpu_bytes);

}  // namespace tranche::core
