// SPDX-License-Identifier: Apache-2.0
//
// A real node's GPUs, as far as the simulated driver can simulate them. Values that the driver does
// not report stay empty.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/gpu/gpu.h"
#include "core/gpu/topology.h"

namespace tranche::node {

struct CapturedProfile {  // of GPU instances
  std::string name;
  unsigned argument = 0;
  unsigned id = 0;
  unsigned slices = 0;
  unsigned instances = 0;
  std::uint64_t memory_mib = 0;
  unsigned multiprocessors = 0;
  unsigned copy_engines = 0;
  unsigned decoders = 0;
  unsigned encoders = 0;
  unsigned jpegs = 0;
  unsigned ofas = 0;
  std::vector<unsigned> starts;
  unsigned size = 0;
};

struct CapturedComputeInstance {
  unsigned id = 0;
  unsigned slices = 0;
  unsigned start = 0;
  unsigned index = 0;  // of the MIG device
  std::string uuid;
};

struct CapturedGpuInstance {
  std::string profile;
  unsigned id = 0;
  unsigned start = 0;
  std::vector<CapturedComputeInstance> compute;
};

struct CapturedLink {
  enum class Peer { kGpu, kSwitch };
  Peer peer = Peer::kGpu;
  std::optional<PciAddress> pci;
  bool active = true;

  bool operator==(const CapturedLink&) const = default;
};

struct CapturedProcess {
  unsigned pid = 0;
  std::uint64_t memory_mib = 0;
};

struct CapturedFabric {
  std::string state;
  int status = 0;
  unsigned clique = 0;
  std::string cluster;  // its uuid; empty: a single node
};

struct CapturedGpu {
  std::string uuid;
  std::string name;
  PciAddress pci;
  std::optional<unsigned> minor;
  std::optional<unsigned> numa_node;
  std::string cpus;
  unsigned device_id = 0;
  unsigned subsystem_id = 0;
  unsigned subsystem_vendor = 0;
  std::optional<unsigned> pci_class;
  std::optional<unsigned> brand, architecture, cores, compute_mode, virtualization, nvlink_version,
      nvlink_mbps, pcie_generation, module_id, drm_card, drm_render, temperature_c, power_mw,
      power_limit_w, multiprocessors;
  unsigned compute_major = 0;
  unsigned compute_minor = 0;
  std::uint64_t memory_mib = 0;
  std::optional<std::uint64_t> reserved_mib, bar1_mib;
  std::string board_part, vbios;
  bool has_serial = false, ecc = false, remaps_rows = false, fabric_capable = false;
  std::optional<bool> persistence;
  std::vector<CapturedLink> links;  // by number
  CapturedFabric fabric;
  bool mig_enabled = false;
  std::vector<CapturedProfile> profiles;
  std::vector<CapturedGpuInstance> instances;
  std::vector<CapturedProcess> processes;
  std::optional<std::uint64_t> energy_mj, ecc_volatile_corrected, ecc_volatile_uncorrected,
      ecc_aggregate_corrected, ecc_aggregate_uncorrected, pcie_replays, remaps_correctable,
      remaps_uncorrectable, remap_pending, remap_failed, recovery_action;
};

struct CapturedNode {
  std::string driver_version;
  std::string cuda_version;
  bool open_modules = true;
  std::string boot_id;
  std::vector<CapturedGpu> gpus;
  Topology topology;  // in the order of `gpus`
  unsigned nvidia_fs = 0;
  unsigned infiniband = 0;
  unsigned imex_channels = 0;
  bool gdrdrv = false;
};

// Removes what identifies the hardware. The simulated driver generates missing uuids.
CapturedNode anonymous(CapturedNode node);

// As a world file of the simulated driver; testbed/README.md has its keys.
std::string to_world(const CapturedNode& node);

}  // namespace tranche::node
