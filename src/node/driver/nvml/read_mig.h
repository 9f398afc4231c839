// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "core/gpu/gpu.h"
#include "core/health/driver_reading.h"
#include "node/driver/kernel_files.h"
#include "node/driver/nvml/session.h"

namespace tranche::node::nvml {

// A MIG device and its attributes: if they change, it is another device with the same uuid.
struct Slice {
  MigDevice device;
  abi::DeviceAttributes attributes{};
};

struct MigQuestion {
  abi::Device handle = nullptr;
  // MIG devices are named by the GPU's memory size and opened by its minor.
  std::uint64_t memory_bytes = 0;
  std::optional<GpuFailure> no_memory_size;  // why it is unknown
  std::optional<unsigned> minor;
  // Slices with the same ids and attributes are not read again.
  std::vector<Slice> known;
};

struct MigReading {
  std::optional<bool> enabled;  // empty: the mode could not be read
  bool is_capable = false;      // the GPU has a mode
  std::vector<Slice> slices;    // sorted by index
  std::optional<GpuFailure> failure;
};

MigReading read_mig(const Session& session, const KernelFiles& kernel, const MigQuestion& question);

// The suffix of a profile name: "+me", "-me", … The argument is the driver's number for profile
// queries, not the profile's id.
const char* mig_attribute(unsigned profile);

}  // namespace tranche::node::nvml
