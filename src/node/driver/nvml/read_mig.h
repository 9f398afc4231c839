// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "core/gpu/gpu.h"
#include "core/health/driver_reading.h"
#include "node/driver/kernel_files.h"
#include "node/driver/nvml/session.h"

namespace tranche::node::nvml {

// A MIG device, and the attributes that it was read with: where they differ
// later, it is another device, whatever its uuid.
struct Slice {
  MigDevice device;
  abi::DeviceAttributes attributes{};
};

struct MigQuestion {
  abi::Device handle = nullptr;
  // Slices are named by the GPU's memory size and open by its minor.
  std::uint64_t memory_bytes = 0;
  std::optional<GpuFailure> no_memory_size;  // why it is not known, where it is not
  std::optional<unsigned> minor;
  // Slices that need not be read whole where ids and attributes are the same.
  std::vector<Slice> known;
};

struct MigReading {
  std::optional<bool> enabled;  // empty: the mode could not be read
  std::vector<Slice> slices;    // sorted by index
  std::optional<GpuFailure> failure;
};

MigReading read_mig(const Session& session, const KernelFiles& host, const MigQuestion& question);

// What a GPU instance's profile adds to the name: "+me", "-me", … The argument
// is the driver's number for profile queries, not the profile's id.
const char* mig_attribute(unsigned profile);

}  // namespace tranche::node::nvml
