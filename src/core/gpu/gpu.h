// SPDX-License-Identifier: Apache-2.0
//
// The driver's GPUs and MIG devices, as plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/named.h"
#include "core/gpu/gpu_features.h"
#include "core/gpu/mig_profile.h"
#include "core/gpu/pci_address.h"

namespace tranche::core {

using GpuUuid = Named<struct GpuUuidTag>;  // "GPU-8f1c…"
using MigUuid = Named<struct MigUuidTag>;  // "MIG-c8b1…"

// Healthy means that the GPU was checked and has no known trouble. Each trouble is a sentence;
// together they are the reason that people see.
struct Health {
  std::vector<std::string> troubles;

  bool ok() const { return troubles.empty(); }
  std::string reason() const;  // all troubles in one line; empty when healthy
  bool operator==(const Health&) const = default;
};

struct MigDevice {
  MigUuid uuid;
  unsigned index = 0;  // among the MIG devices of its GPU
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
  MigProfile profile;
  std::uint64_t memory_bytes = 0;
  // Minors of /dev/nvidia-caps/nvidia-cap<N> that open the two instances.
  std::optional<unsigned> gpu_instance_cap;
  std::optional<unsigned> compute_instance_cap;
  std::optional<MigUnits> units;
  // In a nested cluster: the host granted a part of its memory; memory_bytes is that part.
  bool partial = false;
  Health health;

  bool operator==(const MigDevice&) const = default;
};

struct Gpu {
  GpuUuid uuid;
  // In an inventory: its number, which belongs to its PCI address (gpu_numbers.h).
  // In a reading: what the driver counts.
  unsigned index = 0;
  // The driver's index now, for programs that use it: NVIDIA's runtime, nvidia-smi. Empty:
  // the driver does not list the GPU.
  std::optional<unsigned> driver_index;
  std::optional<unsigned> minor;  // of /dev/nvidia<minor>
  std::optional<PciAddress> pci;
  std::string model;               // "NVIDIA H200"
  std::uint64_t memory_bytes = 0;  // 0: not known
  unsigned compute_major = 0;      // 0: not known
  unsigned compute_minor = 0;
  std::optional<unsigned> numa_node;
  GpuFeatures features;
  bool mig_enabled = false;
  std::vector<MigDevice> mig;  // sorted by index
  // In a nested cluster: the host granted these MIG devices and not the GPU.
  bool only_slices = false;
  bool partial = false;  // as of a MIG device
  Health health;
  // The driver does not list it any more, or reports it as lost: a runtime would refuse its
  // name.
  bool lost = false;

  // The index for programs that use the driver's; empty where the driver does not list the
  // GPU, because the index may be another GPU's now.
  std::optional<unsigned> runtime_index() const {
    return driver_index || lost ? driver_index : std::optional(index);
  }
  bool operator==(const Gpu&) const = default;
};

}  // namespace tranche::core
