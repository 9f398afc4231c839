// SPDX-License-Identifier: Apache-2.0
//
// What a kind of GPU is, before anything happens to it: the values that every
// card of that kind shares. A table of known kinds is compiled in, so a world
// says `model: h100-sxm` and is done.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "testbed/world/mig_table.h"

namespace tranche::testbed::sim {

struct Model {
  std::string name;           // as the driver says it: "NVIDIA H100 80GB HBM3"
  unsigned brand = 14;        // the driver's number; 14 is "NVIDIA"
  unsigned architecture = 0;  // 5 Volta, 6 Turing, 7 Ampere, 8 Ada, 9 Hopper, 10 Blackwell
  unsigned compute_major = 0;
  unsigned compute_minor = 0;
  unsigned device_id = 0;
  unsigned subsystem_id = 0;
  unsigned subsystem_vendor = 0x10de;
  unsigned pci_class = 0x030200;
  std::uint64_t memory_mib = 0;  // all of it, the driver's own part included
  std::uint64_t reserved_mib = 0;
  std::uint64_t bar1_mib = 0;
  unsigned multiprocessors = 0;
  unsigned cores = 0;
  unsigned power_limit_w = 0;
  unsigned pcie_generation = 0;
  std::string board_part;  // empty: the driver does not say
  std::string vbios;
  bool has_serial = true;
  bool ecc = true;
  bool remaps_rows = false;     // Ampere and later; before, pages are retired
  bool fabric = false;          // registers with a fabric manager
  bool coherent = false;        // the CPU addresses its memory (Grace)
  unsigned nvlinks = 0;         // link slots on the chip
  unsigned nvlink_version = 0;  // the driver's number
  unsigned nvlink_mbps = 0;     // of one link, one direction
  MigTable mig;                 // no profiles: the model has no MIG

  bool operator==(const Model&) const = default;
};

// The known kind with this key ("h100-sxm"), or nothing.
std::optional<Model> find_model(std::string_view key);

// All keys, sorted.
std::vector<std::string> model_keys();

}  // namespace tranche::testbed::sim
