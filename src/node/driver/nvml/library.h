// SPDX-License-Identifier: Apache-2.0
//
// The driver's management library, opened at run time, so that the agent also runs without the
// driver and can report that. Uses the newest version of each function. A missing function is null,
// disables what needs it, and is reported.
//
// Thread-safe once opened: the table never changes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "node/driver/nvml/abi.h"

namespace tranche::node::nvml {

struct Functions {
  using Return = abi::Return;
  using Device = abi::Device;

  // Required.
  Return (*init)() = nullptr;
  Return (*shutdown)() = nullptr;
  Return (*device_count)(unsigned*) = nullptr;
  Return (*device_by_index)(unsigned, Device*) = nullptr;
  Return (*uuid)(Device, char*, unsigned) = nullptr;

  const char* (*error_string)(Return) = nullptr;
  Return (*driver_version)(char*, unsigned) = nullptr;
  Return (*cuda_version)(int*) = nullptr;
  Return (*name)(Device, char*, unsigned) = nullptr;
  Return (*minor_number)(Device, unsigned*) = nullptr;
  Return (*pci_info)(Device, abi::PciInfo*) = nullptr;
  Return (*memory_info)(Device, abi::Memory*) = nullptr;
  Return (*compute_capability)(Device, int*, int*) = nullptr;

  Return (*mig_mode)(Device, unsigned*, unsigned*) = nullptr;
  Return (*max_mig_devices)(Device, unsigned*) = nullptr;
  Return (*mig_device_by_index)(Device, unsigned, Device*) = nullptr;
  Return (*gpu_instance_id)(Device, unsigned*) = nullptr;
  Return (*compute_instance_id)(Device, unsigned*) = nullptr;
  Return (*attributes)(Device, abi::DeviceAttributes*) = nullptr;
  Return (*gpu_instance_by_id)(Device, unsigned, abi::GpuInstance*) = nullptr;
  Return (*gpu_instance_info)(abi::GpuInstance, abi::GpuInstanceInfo*) = nullptr;
  Return (*gpu_instance_profile)(Device, unsigned, abi::GpuInstanceProfileInfo*) = nullptr;

  Return (*event_set_create)(abi::EventSet*) = nullptr;
  Return (*event_set_free)(abi::EventSet) = nullptr;
  Return (*event_set_wait)(abi::EventSet, abi::EventData*, unsigned) = nullptr;
  // Fills in the first 24 bytes only, without instances.
  Return (*event_set_wait_v1)(abi::EventSet, abi::EventData*, unsigned) = nullptr;
  Return (*supported_events)(Device, unsigned long long*) = nullptr;
  Return (*register_events)(Device, unsigned long long, abi::EventSet) = nullptr;

  Return (*field_values)(Device, int, abi::FieldValue*) = nullptr;
  Return (*fabric_info)(Device, abi::FabricInfo*) = nullptr;
  Return (*fabric_info_v)(Device, abi::FabricInfoV2*) = nullptr;
  Return (*validate_inforom)(Device) = nullptr;
  Return (*temperature)(Device, int, unsigned*) = nullptr;
  Return (*power_usage)(Device, unsigned*) = nullptr;
  Return (*pcie_replays)(Device, unsigned*) = nullptr;
  Return (*ecc_errors)(Device, int, int, unsigned long long*) = nullptr;
  Return (*persistence_mode)(Device, unsigned*) = nullptr;
  Return (*repair_status)(Device, abi::RepairStatus*) = nullptr;

  Return (*device_by_uuid)(const char*, Device*) = nullptr;
  Return (*compute_mode)(Device, int*) = nullptr;
  Return (*set_compute_mode)(Device, int) = nullptr;
  // The hook of a container sets them; the agent only checks that it can.
  Return (*set_memory_limits)(Device, const void*) = nullptr;
  Return (*memory_limits)(Device, abi::MemoryLimits*) = nullptr;

  Return (*common_ancestor)(Device, Device, int*) = nullptr;
  Return (*nvlink_state)(Device, unsigned, int*) = nullptr;
  Return (*nvlink_remote_pci)(Device, unsigned, abi::PciInfo*) = nullptr;
  Return (*nvlink_remote_type)(Device, unsigned, int*) = nullptr;
};

class Library {
 public:
  // `path` is a file, or a bare name for the loader. kNotFound: no such library; other errors: it
  // is unusable.
  static Result<std::shared_ptr<const Library>> open(const std::string& path);

  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library();

  const Functions& api() const { return functions_; }
  const std::string& path() const { return path_; }
  // Missing functions and their consequences, in words.
  const std::vector<std::string>& lacking() const { return lacking_; }

  // Any other function; null if the library lacks it. The caller knows its type.
  void* find(const char* name) const;

  // "nvmlDeviceGetUUID: GPU is lost".
  std::string describe(const char* function, abi::Return code) const;

 private:
  Library(void* handle, std::string path);
  Status resolve();

  void* const handle_;
  const std::string path_;
  Functions functions_;
  std::vector<std::string> lacking_;
};

inline constexpr const char* kSoname = "libnvidia-ml.so.1";

// The library below a driver root, in the usual folders; empty: none.
std::string find_below(const std::string& driver_root);

}  // namespace tranche::node::nvml
