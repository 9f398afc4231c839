// SPDX-License-Identifier: Apache-2.0
//
// Layouts that the simulated library answers with and Tranche itself does not
// read, so that they are not in nvml/abi.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "node/driver/nvml/abi.h"

namespace tranche::testbed::sim::layout {

using nvml::abi::Device;
using nvml::abi::GpuInstanceProfileInfoV2;
using nvml::abi::kGpuInstanceProfileInfoV2;
using nvml::abi::Return;

// What the older forms of nvmlDeviceGetPciInfo fill; the first one ends before
// the subsystem. Both are the beginning of the present one.
struct OldPciInfo {
  char bus_id[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pci_device_id;
  unsigned pci_subsystem_id;
};
static_assert(sizeof(OldPciInfo) == 36 && offsetof(OldPciInfo, pci_subsystem_id) == 32);

struct PciInfoExt {
  unsigned version;
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pci_device_id;
  unsigned pci_subsystem_id;
  unsigned base_class;
  unsigned sub_class;
  char bus_id[32];
};
static_assert(sizeof(PciInfoExt) == 64 && offsetof(PciInfoExt, bus_id) == 32);
inline constexpr unsigned kPciInfoExt = 0x01000040;

struct ProcessInfoV1 {
  unsigned pid;
  unsigned long long used_gpu_memory;
};
static_assert(sizeof(ProcessInfoV1) == 16);

struct ProcessUtilizationSample {
  unsigned pid;
  unsigned long long time_stamp;
  unsigned sm;
  unsigned memory;
  unsigned encoder;
  unsigned decoder;
};
static_assert(sizeof(ProcessUtilizationSample) == 32);

struct GpuInstanceProfileInfoV3 {
  unsigned version;
  unsigned id;
  unsigned slices;
  unsigned instances;
  unsigned multiprocessors;
  unsigned copy_engines;
  unsigned decoders;
  unsigned encoders;
  unsigned jpegs;
  unsigned ofas;
  unsigned long long memory_mib;
  char name[96];
  unsigned capabilities;
};
static_assert(sizeof(GpuInstanceProfileInfoV3) == 152 &&
              offsetof(GpuInstanceProfileInfoV3, name) == 48);
inline constexpr unsigned kGpuInstanceProfileInfoV3 = 0x03000098;

struct ComputeInstanceProfileInfoV3 {
  unsigned version;
  unsigned id;
  unsigned slices;
  unsigned instances;
  unsigned multiprocessors;
  unsigned copy_engines;
  unsigned decoders;
  unsigned encoders;
  unsigned jpegs;
  unsigned ofas;
  char name[96];
  unsigned capabilities;  // not in version 2, which is 4 bytes shorter
};
static_assert(sizeof(ComputeInstanceProfileInfoV3) == 140 &&
              offsetof(ComputeInstanceProfileInfoV3, capabilities) == 136);
inline constexpr unsigned kComputeInstanceProfileInfoV2 = 0x02000088;
inline constexpr unsigned kComputeInstanceProfileInfoV3 = 0x0300008c;

struct FabricInfoV3 {
  unsigned version;
  unsigned char cluster_uuid[16];
  Return status;
  unsigned clique_id;
  unsigned char state;
  unsigned health_mask;
  unsigned char health_summary;
};
static_assert(sizeof(FabricInfoV3) == 40 && offsetof(FabricInfoV3, health_summary) == 36);
inline constexpr unsigned kFabricInfoV3 = 0x03000028;

struct AddressingMode {
  unsigned version;
  unsigned value;
};
inline constexpr unsigned kAddressingMode = 0x01000008;

struct SetMemoryLimits {
  const char* name_space;
  std::uint64_t soft;
  std::uint64_t hard;
};
static_assert(sizeof(SetMemoryLimits) == 24);

}  // namespace tranche::testbed::sim::layout
