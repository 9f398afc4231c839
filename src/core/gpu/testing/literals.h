// SPDX-License-Identifier: Apache-2.0
//
// Short ways to write GPUs down in tests.
#pragma once

#include <fmt/core.h>

#include <string>
#include <utility>
#include <vector>

#include "core/gpu/inventory.h"

namespace tranche::core {

// GPU `index`, called "GPU-<index>", whole and healthy.
inline Gpu a_gpu(unsigned index) {
  return {.uuid = GpuUuid(fmt::format("GPU-{}", index)),
          .index = index,
          .minor = index,
          .pci = PciAddress{0, 0x10 + index, 0, 0},
          .model = "NVIDIA H100 80GB HBM3",
          .memory_bytes = 81559ULL << 20,
          .compute_major = 9};
}

// MIG device `index` of a GPU, called "MIG-<gpu>-<index>".
inline MigDevice a_slice(unsigned gpu, unsigned index, MigProfile profile) {
  return {.uuid = MigUuid(fmt::format("MIG-{}-{}", gpu, index)),
          .index = index,
          .gpu_instance = index + 1,
          .compute_instance = 0,
          .profile = std::move(profile),
          .gpu_instance_cap = 3 + 135 * gpu + 9 * (index + 1),
          .compute_instance_cap = 4 + 135 * gpu + 9 * (index + 1)};
}

inline Gpu a_cut_gpu(unsigned index, const std::vector<MigProfile>& profiles) {
  Gpu gpu = a_gpu(index);
  gpu.mig_enabled = true;
  for (unsigned i = 0; i < profiles.size(); ++i) gpu.mig.push_back(a_slice(index, i, profiles[i]));
  return gpu;
}

inline const MigProfile k1g10gb{1, 1, 10, ""};
inline const MigProfile k2g20gb{2, 2, 20, ""};
inline const MigProfile k3g40gb{3, 3, 40, ""};

inline Inventory an_inventory(std::vector<Gpu> gpus) {
  Inventory inventory{.driver = DriverKind::kNvml, .driver_version = "580.105.08"};
  std::vector<GpuUuid> uuids;
  for (const Gpu& gpu : gpus) uuids.push_back(gpu.uuid);
  inventory.topology = Topology(std::move(uuids));
  inventory.gpus = std::move(gpus);
  return inventory;
}

// `count` GPUs, whole and healthy.
inline Inventory a_node(unsigned count) {
  std::vector<Gpu> gpus;
  for (unsigned i = 0; i < count; ++i) gpus.push_back(a_gpu(i));
  return an_inventory(std::move(gpus));
}

}  // namespace tranche::core
