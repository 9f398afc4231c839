// SPDX-License-Identifier: Apache-2.0
//
// The part of the C ABI of the driver's management library that the agent uses: numbers, struct
// layouts and function types, written from the documented facts without NVIDIA's headers. The
// simulated driver has the same layouts, and NVIDIA's own clients run on it, so a mistake here
// shows.
//
// Layouts are those of LP64 Linux; each is asserted.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tranche::node::nvml::abi {

using Return = int;
inline constexpr Return kSuccess = 0;
inline constexpr Return kUninitialized = 1;
inline constexpr Return kInvalidArgument = 2;
inline constexpr Return kNotSupported = 3;
inline constexpr Return kNoPermission = 4;
inline constexpr Return kNotFound = 6;
inline constexpr Return kInsufficientSize = 7;
inline constexpr Return kDriverNotLoaded = 9;
inline constexpr Return kTimeout = 10;
inline constexpr Return kLibraryNotFound = 12;
inline constexpr Return kFunctionNotFound = 13;
inline constexpr Return kCorruptedInforom = 14;
inline constexpr Return kGpuIsLost = 15;
inline constexpr Return kResetRequired = 16;
inline constexpr Return kOperatingSystem = 17;
inline constexpr Return kLibRmVersionMismatch = 18;
inline constexpr Return kInUse = 19;
inline constexpr Return kInsufficientResources = 23;
inline constexpr Return kArgumentVersionMismatch = 25;
inline constexpr Return kUnknown = 999;

// Opaque handles.
using Device = struct DeviceOpaque*;
using GpuInstance = struct GpuInstanceOpaque*;
using ComputeInstance = struct ComputeInstanceOpaque*;
using EventSet = struct EventSetOpaque*;

inline constexpr unsigned kUuidSize = 96;
inline constexpr unsigned kNameSize = 96;
inline constexpr unsigned kVersionSize = 80;

// In an event or a process entry: not attributed to an instance.
inline constexpr unsigned kNoInstance = 0xFFFFFFFF;

struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pci_device_id;  // device id << 16 | vendor id
  unsigned pci_subsystem_id;
  char bus_id[32];  // "00000000:07:00.0"
};
static_assert(sizeof(PciInfo) == 68 && offsetof(PciInfo, bus_id) == 36);

struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
static_assert(sizeof(Memory) == 24);

struct MemoryV2 {
  unsigned version;
  unsigned long long total;
  unsigned long long reserved;
  unsigned long long free;
  unsigned long long used;
};
static_assert(sizeof(MemoryV2) == 40 && offsetof(MemoryV2, used) == 32);
inline constexpr unsigned kMemoryV2 = 0x02000028;

struct Utilization {
  unsigned gpu;
  unsigned memory;
};

struct ProcessInfo {
  unsigned pid;
  unsigned long long used_gpu_memory;
  unsigned gpu_instance_id;
  unsigned compute_instance_id;
};
static_assert(sizeof(ProcessInfo) == 24 && offsetof(ProcessInfo, gpu_instance_id) == 16);

// Event types, a mask.
inline constexpr unsigned long long kEventSingleBitEcc = 0x1;
inline constexpr unsigned long long kEventDoubleBitEcc = 0x2;
inline constexpr unsigned long long kEventXid = 0x8;
inline constexpr unsigned long long kEventMigConfigChange = 0x100;
inline constexpr unsigned long long kEventGpuUnavailable = 0x4000;
inline constexpr unsigned long long kEventRecoveryAction = 0x8000;

struct EventDataV1 {
  Device device;
  unsigned long long event_type;
  unsigned long long event_data;  // for kEventXid: its number
};
static_assert(sizeof(EventDataV1) == 24);

struct EventData {
  Device device;
  unsigned long long event_type;
  unsigned long long event_data;
  unsigned gpu_instance_id;
  unsigned compute_instance_id;
};
static_assert(sizeof(EventData) == 32 && offsetof(EventData, gpu_instance_id) == 24);

union Value {
  double d;
  std::int32_t si;
  std::uint32_t ui;
  unsigned long ul;
  unsigned long long ull;
  long long sll;
  std::uint16_t us;
};
static_assert(sizeof(Value) == 8);

enum ValueType : int {
  kValueDouble = 0,
  kValueUint = 1,
  kValueUlong = 2,
  kValueUlonglong = 3,
  kValueSlonglong = 4,
  kValueSint = 5,
  kValueUshort = 6,
};

struct FieldValue {
  unsigned field_id;
  unsigned scope_id;
  long long timestamp;
  long long latency_us;
  int value_type;
  Return result;
  Value value;
};
static_assert(sizeof(FieldValue) == 40 && offsetof(FieldValue, value) == 32);

inline constexpr unsigned kFieldEccDbeVolatile = 4;
inline constexpr unsigned kFieldRetiredPending = 31;
inline constexpr unsigned kFieldEnergy = 83;
inline constexpr unsigned kFieldNvLinkCount = 91;
inline constexpr unsigned kFieldPcieReplay = 94;
inline constexpr unsigned kFieldRemapCorrectable = 142;
inline constexpr unsigned kFieldRemapUncorrectable = 143;
inline constexpr unsigned kFieldRemapPending = 144;
inline constexpr unsigned kFieldRemapFailure = 145;
inline constexpr unsigned kFieldNvSwitchLinkCount = 147;
inline constexpr unsigned kFieldResetStatus = 226;
inline constexpr unsigned kFieldDrainResetStatus = 227;
inline constexpr unsigned kFieldRecoveryAction = 230;

inline constexpr unsigned kRecoveryNone = 0;
inline constexpr unsigned kRecoveryGpuReset = 1;
inline constexpr unsigned kRecoveryNodeReboot = 2;
inline constexpr unsigned kRecoveryDrainP2p = 3;
inline constexpr unsigned kRecoveryDrainAndReset = 4;
inline constexpr unsigned kRecoverImexDomain = 5;
inline constexpr unsigned kRecoveryBusReset = 6;
inline constexpr unsigned kRecoverySystemReboot = 7;

struct DeviceAttributes {
  unsigned multiprocessors;
  unsigned copy_engines;
  unsigned decoders;
  unsigned encoders;
  unsigned jpegs;
  unsigned ofas;
  unsigned gpu_instance_slices;
  unsigned compute_instance_slices;
  unsigned long long memory_mib;

  bool operator==(const DeviceAttributes&) const = default;
};
static_assert(sizeof(DeviceAttributes) == 40 && offsetof(DeviceAttributes, memory_mib) == 32);

struct Placement {
  unsigned start;
  unsigned size;
};

struct GpuInstanceProfileInfo {
  unsigned id;
  unsigned is_p2p_supported;
  unsigned slices;
  unsigned instances;
  unsigned multiprocessors;
  unsigned copy_engines;
  unsigned decoders;
  unsigned encoders;
  unsigned jpegs;
  unsigned ofas;
  unsigned long long memory_mib;
};
static_assert(sizeof(GpuInstanceProfileInfo) == 48 &&
              offsetof(GpuInstanceProfileInfo, memory_mib) == 40);

// With the profile's name, from R510 on.
inline constexpr unsigned kGpuInstanceProfileInfoV2 = 0x02000098;
struct GpuInstanceProfileInfoV2 {
  unsigned version;
  unsigned id;
  unsigned is_p2p_supported;
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
};
static_assert(sizeof(GpuInstanceProfileInfoV2) == 152 &&
              offsetof(GpuInstanceProfileInfoV2, name) == 56);

struct GpuInstanceInfo {
  Device device;
  unsigned id;
  unsigned profile_id;
  Placement placement;
};
static_assert(sizeof(GpuInstanceInfo) == 24);

struct ComputeInstanceProfileInfo {
  unsigned id;
  unsigned slices;
  unsigned instances;
  unsigned multiprocessors;
  unsigned copy_engines;
  unsigned decoders;
  unsigned encoders;
  unsigned jpegs;
  unsigned ofas;
};
static_assert(sizeof(ComputeInstanceProfileInfo) == 36);

struct ComputeInstanceInfo {
  Device device;
  GpuInstance gpu_instance;
  unsigned id;
  unsigned profile_id;
  Placement placement;
};
static_assert(sizeof(ComputeInstanceInfo) == 32);

// GPU instance profiles as the *argument* of profile queries. The id that a
// query answers with is another number.
inline constexpr unsigned kGpuInstanceProfiles = 18;
inline constexpr unsigned kComputeInstanceProfiles = 9;

struct FabricInfo {
  unsigned char cluster_uuid[16];
  Return status;
  unsigned clique_id;
  unsigned char state;
};
static_assert(sizeof(FabricInfo) == 28 && offsetof(FabricInfo, state) == 24);

struct FabricInfoV2 {
  unsigned version;
  unsigned char cluster_uuid[16];
  Return status;
  unsigned clique_id;
  unsigned char state;
  unsigned health_mask;
};
static_assert(sizeof(FabricInfoV2) == 36 && offsetof(FabricInfoV2, health_mask) == 32);
inline constexpr unsigned kFabricInfoV2 = 0x02000024;

inline constexpr unsigned char kFabricNotSupported = 0;
inline constexpr unsigned char kFabricNotStarted = 1;
inline constexpr unsigned char kFabricInProgress = 2;
inline constexpr unsigned char kFabricCompleted = 3;

// Units of the chip that a reset will retire, from R580 on.
struct RepairStatus {
  unsigned version;
  unsigned channel_pending;
  unsigned tpc_pending;
};
static_assert(sizeof(RepairStatus) == 12);
inline constexpr unsigned kRepairStatusV1 = 0x0100000c;

// Limits of a control group's memory on a GPU, from R615 on.
struct MemoryLimits {
  const char* name_space;  // the group's path
  std::uint64_t soft;
  std::uint64_t hard;
  std::uint64_t used;
};
static_assert(sizeof(MemoryLimits) == 32 && offsetof(MemoryLimits, used) == 24);

// Compute modes: which processes may use a GPU.
inline constexpr int kComputeDefault = 0;
inline constexpr int kComputeProhibited = 2;
inline constexpr int kComputeExclusiveProcess = 3;

inline constexpr int kTopologyInternal = 0;
inline constexpr int kTopologySingle = 10;
inline constexpr int kTopologyMultiple = 20;
inline constexpr int kTopologyHostBridge = 30;
inline constexpr int kTopologyNode = 40;
inline constexpr int kTopologySystem = 50;

inline constexpr int kRemoteGpu = 0;
inline constexpr int kRemoteSwitch = 2;

}  // namespace tranche::node::nvml::abi
