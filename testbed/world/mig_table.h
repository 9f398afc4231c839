// SPDX-License-Identifier: Apache-2.0
//
// How a model of GPU can be cut: its GPU instance profiles with their sizes and
// the places they can lie in, and the compute instances that fit into each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tranche::testbed::sim {

struct GpuInstanceProfile {
  std::string name;       // "3g.40gb"
  unsigned argument = 0;  // the number that asks for it
  unsigned id = 0;        // the number that it has; another one
  unsigned slices = 0;
  unsigned instances = 0;
  std::uint64_t memory_mib = 0;
  unsigned multiprocessors = 0;
  unsigned copy_engines = 0;
  unsigned decoders = 0;
  unsigned encoders = 0;
  unsigned jpegs = 0;
  unsigned ofas = 0;
  std::vector<unsigned> starts;  // in memory units
  unsigned size = 0;             // in memory units

  bool operator==(const GpuInstanceProfile&) const = default;
};

struct MigTable {
  unsigned slices = 0;  // of compute
  unsigned units = 0;   // of memory: a 7-slice GPU has 8
  std::vector<GpuInstanceProfile> profiles;

  bool empty() const { return profiles.empty(); }
  bool operator==(const MigTable&) const = default;
};

// The profile with this name or id, or null.
const GpuInstanceProfile* find_profile(const MigTable& table, std::string_view name);
const GpuInstanceProfile* find_profile(const MigTable& table, unsigned id);

// The GPU's memory becomes `to_mib`: each profile keeps its share, and is named
// by its new size.
void resize_profiles(MigTable& table, std::uint64_t from_mib, std::uint64_t to_mib);

// A compute instance's profile. Its id is the number that asks for it, too.
struct ComputeInstanceProfile {
  unsigned id = 0;
  unsigned slices = 0;
  unsigned instances = 0;
  unsigned multiprocessors = 0;
  std::vector<unsigned> starts;  // in slices of the GPU instance

  bool operator==(const ComputeInstanceProfile&) const = default;
};

// What fits into a GPU instance of this profile, the smallest first.
std::vector<ComputeInstanceProfile> compute_profiles(const GpuInstanceProfile& profile);

// "3g.40gb" for a compute instance that fills it, else "1c.3g.40gb".
std::string compute_profile_name(const GpuInstanceProfile& gpu_instance, unsigned slices);

// The tables of the known families. `memory_mib` and `names` are in the order
// of the profiles: 1g, 1g+me, 1g with double memory, 2g, 3g, 4g, 7g.
MigTable a100_mig(const std::vector<std::string>& names,
                  const std::vector<std::uint64_t>& memory_mib);
MigTable hopper_mig(const std::vector<std::string>& names,
                    const std::vector<std::uint64_t>& memory_mib,
                    const std::vector<unsigned>& multiprocessors);
MigTable a30_mig();
MigTable rtx_pro_6000_mig();

}  // namespace tranche::testbed::sim
