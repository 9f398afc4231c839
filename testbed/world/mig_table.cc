// SPDX-License-Identifier: Apache-2.0
#include "testbed/world/mig_table.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "core/gpu/mig_profile.h"

namespace tranche::testbed::sim {
namespace {

// The places that all 7-slice GPUs have in common.
struct SevenSliceRow {
  unsigned argument;
  unsigned id;
  unsigned slices;
  unsigned instances;
  std::vector<unsigned> starts;
  unsigned size;
};

const std::array<SevenSliceRow, 7>& seven_slice_rows() {
  static const std::array<SevenSliceRow, 7> rows = {{
      {0x0, 19, 1, 7, {0, 1, 2, 3, 4, 5, 6}, 1},
      {0x7, 20, 1, 1, {0, 1, 2, 3, 4, 5, 6}, 1},
      {0x9, 15, 1, 4, {0, 2, 4, 6}, 2},
      {0x1, 14, 2, 3, {0, 2, 4}, 2},
      {0x2, 9, 3, 2, {0, 4}, 4},
      {0x3, 5, 4, 1, {0}, 4},
      {0x4, 0, 7, 1, {0}, 8},
  }};
  return rows;
}

// One number for each of the seven profiles.
using Seven = std::array<unsigned, 7>;
struct Engines {
  Seven multiprocessors, copy, decode, jpeg, ofa;
};

MigTable seven_slices(const std::vector<std::string>& names,
                      const std::vector<std::uint64_t>& memory_mib, const Engines& engines) {
  MigTable table{.slices = 7, .units = 8};
  for (std::size_t i = 0; i < 7; ++i) {
    const SevenSliceRow& row = seven_slice_rows().at(i);
    table.profiles.push_back({.name = names.at(i),
                              .argument = row.argument,
                              .id = row.id,
                              .slices = row.slices,
                              .instances = row.instances,
                              .memory_mib = memory_mib.at(i),
                              .multiprocessors = engines.multiprocessors.at(i),
                              .copy_engines = engines.copy.at(i),
                              .decoders = engines.decode.at(i),
                              .jpegs = engines.jpeg.at(i),
                              .ofas = engines.ofa.at(i),
                              .starts = row.starts,
                              .size = row.size});
  }
  return table;
}

// How many compute instances of so many slices a GPU instance holds, and where.
std::vector<unsigned> compute_starts(unsigned gi_slices, unsigned slices) {
  // A compute instance of 3 slices lies at 0 or 4, as if it were 4 wide.
  const unsigned step = slices == 3 ? 4 : slices;
  std::vector<unsigned> starts;
  for (unsigned start = 0; start + slices <= gi_slices; start += step) starts.push_back(start);
  return starts;
}

struct ComputeSize {
  unsigned id;
  unsigned slices;
};
constexpr std::array<ComputeSize, 7> kComputeSizes = {
    {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {6, 6}, {4, 7}, {5, 8}}};

// Four slices hold 1, 2 or 4, seven hold no 6.
bool is_offered(unsigned gi_slices, unsigned slices) {
  if (slices > gi_slices) return false;
  if (slices == 3) return gi_slices == 3 || gi_slices == 7;
  return slices != 6;
}

}  // namespace

const GpuInstanceProfile* find_profile(const MigTable& table, std::string_view name) {
  const auto found = std::ranges::find(table.profiles, name, &GpuInstanceProfile::name);
  return found == table.profiles.end() ? nullptr : &*found;
}

const GpuInstanceProfile* find_profile(const MigTable& table, unsigned id) {
  const auto found = std::ranges::find(table.profiles, id, &GpuInstanceProfile::id);
  return found == table.profiles.end() ? nullptr : &*found;
}

void resize_profiles(MigTable& table, std::uint64_t from_mib, std::uint64_t to_mib) {
  if (from_mib == 0) return;
  for (GpuInstanceProfile& profile : table.profiles) {
    profile.memory_mib = profile.memory_mib * to_mib / from_mib;
    // "1g.24gb+me": what follows the size stays.
    const std::size_t unit = profile.name.find("gb");
    const std::string attribute =
        unit == std::string::npos ? std::string() : profile.name.substr(unit + 2);
    profile.name = std::to_string(profile.slices) + "g." +
                   std::to_string(mig_memory_gb(profile.memory_mib, to_mib << 20)) + "gb" +
                   attribute;
  }
}

std::vector<ComputeInstanceProfile> compute_profiles(const GpuInstanceProfile& profile) {
  std::vector<ComputeInstanceProfile> offered;
  for (const auto& [id, slices] : kComputeSizes) {
    if (!is_offered(profile.slices, slices)) continue;
    const std::vector<unsigned> starts = compute_starts(profile.slices, slices);
    offered.push_back({.id = id,
                       .slices = slices,
                       .instances = static_cast<unsigned>(starts.size()),
                       .multiprocessors = profile.multiprocessors * slices / profile.slices,
                       .starts = starts});
  }
  return offered;
}

std::string compute_profile_name(const GpuInstanceProfile& gpu_instance, unsigned slices) {
  if (slices == gpu_instance.slices) return gpu_instance.name;
  return std::to_string(slices) + "c." + gpu_instance.name;
}

MigTable a100_mig(const std::vector<std::string>& names,
                  const std::vector<std::uint64_t>& memory_mib) {
  return seven_slices(names, memory_mib,
                      {.multiprocessors = {14, 14, 14, 28, 42, 56, 98},
                       .copy = {1, 1, 1, 2, 3, 4, 7},
                       .decode = {0, 1, 1, 1, 2, 2, 5},
                       .jpeg = {0, 1, 0, 0, 0, 0, 1},
                       .ofa = {0, 1, 0, 0, 0, 0, 1}});
}

MigTable hopper_mig(const std::vector<std::string>& names,
                    const std::vector<std::uint64_t>& memory_mib,
                    const std::vector<unsigned>& multiprocessors) {
  Engines engines{.copy = {1, 1, 1, 2, 3, 4, 8},
                  .decode = {1, 1, 1, 2, 3, 4, 7},
                  .jpeg = {1, 1, 1, 2, 3, 4, 7},
                  .ofa = {0, 1, 0, 0, 0, 0, 1}};
  for (std::size_t i = 0; i < 7; ++i) engines.multiprocessors.at(i) = multiprocessors.at(i);
  return seven_slices(names, memory_mib, engines);
}

MigTable a30_mig() {
  const std::vector<unsigned> quarters = {0, 1, 2, 3};
  const std::vector<unsigned> halves = {0, 2};
  return {.slices = 4,
          .units = 4,
          .profiles = {
              {"1g.6gb", 0x0, 14, 1, 4, 5952, 14, 1, 0, 0, 0, 0, quarters, 1},
              {"1g.6gb+me", 0x7, 21, 1, 1, 5952, 14, 1, 1, 0, 1, 1, quarters, 1},
              {"2g.12gb", 0x1, 5, 2, 2, 11968, 28, 2, 2, 0, 0, 0, halves, 2},
              {"2g.12gb+me", 0x8, 6, 2, 1, 11968, 28, 2, 2, 0, 1, 1, halves, 2},
              {"4g.24gb", 0x3, 0, 4, 1, 24000, 56, 4, 4, 0, 1, 1, {0}, 4},
          }};
}

MigTable rtx_pro_6000_mig() {
  const std::vector<unsigned> quarters = {0, 3, 6, 9};
  const std::vector<unsigned> halves = {0, 6};
  return {.slices = 4,
          .units = 12,
          .profiles = {
              {"1g.24gb", 0x0, 14, 1, 4, 24192, 46, 1, 1, 1, 1, 0, quarters, 3},
              {"1g.24gb+me", 0x7, 21, 1, 1, 24192, 46, 1, 1, 1, 1, 1, quarters, 3},
              {"1g.24gb+gfx", 0xA, 47, 1, 4, 24192, 46, 1, 1, 1, 1, 0, quarters, 3},
              {"1g.24gb+me.all", 0xF, 65, 1, 1, 24192, 46, 1, 4, 4, 4, 1, quarters, 3},
              {"1g.24gb-me", 0xD, 67, 1, 4, 24192, 46, 1, 0, 0, 0, 0, quarters, 3},
              {"2g.48gb", 0x1, 5, 2, 2, 48512, 94, 2, 2, 2, 2, 0, halves, 6},
              {"2g.48gb+gfx", 0xB, 35, 2, 2, 48512, 94, 2, 2, 2, 2, 0, halves, 6},
              {"2g.48gb+me.all", 0x10, 64, 2, 1, 48512, 94, 2, 4, 4, 4, 1, halves, 6},
              {"2g.48gb-me", 0xE, 66, 2, 2, 48512, 94, 2, 0, 0, 0, 0, halves, 6},
              {"4g.96gb", 0x3, 0, 4, 1, 97280, 188, 4, 4, 4, 4, 1, {0}, 12},
              {"4g.96gb+gfx", 0xC, 32, 4, 1, 97280, 188, 4, 4, 4, 4, 1, {0}, 12},
          }};
}

}  // namespace tranche::testbed::sim
