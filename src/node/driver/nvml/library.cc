// SPDX-License-Identifier: Apache-2.0
#include "node/driver/nvml/library.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <climits>
#include <cstdlib>
#include <initializer_list>
#include <utility>

#include "base/path.h"
#include "os/files.h"

namespace tranche::node::nvml {
namespace {

// Resolves to the first name that exists: give the newest first.
template <typename Function>
bool find_first(void* handle, Function& place, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (void* symbol = ::dlsym(handle, name)) {
      place = reinterpret_cast<Function>(symbol);
      return true;
    }
  }
  return false;
}

// Functions for enforcement; older drivers lack some.
void find_settings(void* handle, Functions& f) {
  find_first(handle, f.device_by_uuid, {"nvmlDeviceGetHandleByUUID"});
  find_first(handle, f.compute_mode, {"nvmlDeviceGetComputeMode"});
  find_first(handle, f.set_compute_mode, {"nvmlDeviceSetComputeMode"});
  find_first(handle, f.set_memory_limits, {"nvmlDeviceSetMemoryLimits_v1"});
  find_first(handle, f.memory_limits, {"nvmlDeviceGetMemoryLimits_v1"});
}

// Functions for health; older drivers lack some.
void find_vitals(void* handle, Functions& f) {
  find_first(handle, f.temperature, {"nvmlDeviceGetTemperature"});
  find_first(handle, f.power_usage, {"nvmlDeviceGetPowerUsage"});
  find_first(handle, f.pcie_replays, {"nvmlDeviceGetPcieReplayCounter"});
  find_first(handle, f.ecc_errors, {"nvmlDeviceGetTotalEccErrors"});
  find_first(handle, f.persistence_mode, {"nvmlDeviceGetPersistenceMode"});
  find_first(handle, f.repair_status, {"nvmlDeviceGetRepairStatus"});
}

}  // namespace

Result<std::shared_ptr<const Library>> Library::open(const std::string& path) {
  void* handle = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = ::dlerror();  // NOLINT(concurrency-mt-unsafe): glibc's is per thread
    const bool is_file = path.find('/') != std::string::npos;
    const bool missing =
        is_file ? !path_exists(path)
                : std::string(reason).find("cannot open shared object file") != std::string::npos;
    return Error{missing ? ErrorCode::kNotFound : ErrorCode::kUnavailable,
                 "cannot open the driver's library: " + std::string(reason)};
  }
  std::shared_ptr<Library> library(new Library(handle, path));
  if (Status resolved = library->resolve(); !resolved) return resolved.error();
  return std::shared_ptr<const Library>(std::move(library));
}

Library::Library(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}

Library::~Library() { ::dlclose(handle_); }

Status Library::resolve() {
  Functions& f = functions_;
  const auto need = [&](auto& place, std::initializer_list<const char*> names) -> Status {
    if (find_first(handle_, place, names)) return Done{};
    return Error{ErrorCode::kUnavailable,
                 fmt::format("{} lacks {}: it is no NVIDIA management library, or a very old one",
                             path_, *names.begin())};
  };
  if (Status s = need(f.init, {"nvmlInit_v2", "nvmlInit"}); !s) return s;
  if (Status s = need(f.shutdown, {"nvmlShutdown"}); !s) return s;
  if (Status s = need(f.device_count, {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"}); !s) {
    return s;
  }
  if (Status s =
          need(f.device_by_index, {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"});
      !s) {
    return s;
  }
  if (Status s = need(f.uuid, {"nvmlDeviceGetUUID"}); !s) return s;

  const auto want = [&](auto& place, std::initializer_list<const char*> names, const char* lack) {
    if (find_first(handle_, place, names)) return;
    if (*lack != '\0') lacking_.push_back(fmt::format("{}: {}", *names.begin(), lack));
  };
  want(f.error_string, {"nvmlErrorString"}, "");
  want(f.driver_version, {"nvmlSystemGetDriverVersion"}, "the driver's version is unknown");
  want(f.cuda_version, {"nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion"}, "");
  want(f.name, {"nvmlDeviceGetName"}, "models are unknown");
  want(f.minor_number, {"nvmlDeviceGetMinorNumber"}, "device nodes are unknown");
  want(f.pci_info, {"nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetPciInfo"},
       "PCI addresses and NUMA nodes are unknown");
  want(f.memory_info, {"nvmlDeviceGetMemoryInfo"}, "memory sizes are unknown");
  want(f.compute_capability, {"nvmlDeviceGetCudaComputeCapability"}, "");

  want(f.mig_mode, {"nvmlDeviceGetMigMode"}, "MIG devices are not seen");
  want(f.max_mig_devices, {"nvmlDeviceGetMaxMigDeviceCount"}, "");
  want(f.mig_device_by_index, {"nvmlDeviceGetMigDeviceHandleByIndex"}, "");
  want(f.gpu_instance_id, {"nvmlDeviceGetGpuInstanceId"}, "");
  want(f.compute_instance_id, {"nvmlDeviceGetComputeInstanceId"}, "");
  want(f.attributes, {"nvmlDeviceGetAttributes_v2", "nvmlDeviceGetAttributes"}, "");
  want(f.gpu_instance_by_id, {"nvmlDeviceGetGpuInstanceById"}, "");
  want(f.gpu_instance_info, {"nvmlGpuInstanceGetInfo"}, "");
  want(f.gpu_instance_profile, {"nvmlDeviceGetGpuInstanceProfileInfo"}, "");

  want(f.event_set_create, {"nvmlEventSetCreate"}, "events are not watched");
  want(f.event_set_free, {"nvmlEventSetFree"}, "");
  want(f.event_set_wait, {"nvmlEventSetWait_v2"}, "");
  if (f.event_set_wait == nullptr) {
    want(f.event_set_wait_v1, {"nvmlEventSetWait"}, "events are not watched");
  }
  want(f.supported_events, {"nvmlDeviceGetSupportedEventTypes"}, "");
  want(f.register_events, {"nvmlDeviceRegisterEvents"}, "");

  want(f.field_values, {"nvmlDeviceGetFieldValues"},
       "recovery actions, row remaps and resets are not seen");
  want(f.fabric_info_v, {"nvmlDeviceGetGpuFabricInfoV"}, "");
  if (f.fabric_info_v == nullptr) {
    want(f.fabric_info, {"nvmlDeviceGetGpuFabricInfo"},
         "the state of an NVLink fabric is not seen");
  }
  want(f.validate_inforom, {"nvmlDeviceValidateInforom"}, "");
  find_settings(handle_, f);
  find_vitals(handle_, f);
  want(f.common_ancestor, {"nvmlDeviceGetTopologyCommonAncestor"}, "PCIe topology is unknown");
  want(f.nvlink_state, {"nvmlDeviceGetNvLinkState"}, "NVLinks are unknown");
  want(f.nvlink_remote_pci,
       {"nvmlDeviceGetNvLinkRemotePciInfo_v2", "nvmlDeviceGetNvLinkRemotePciInfo"}, "");
  want(f.nvlink_remote_type, {"nvmlDeviceGetNvLinkRemoteDeviceType"}, "");
  return Done{};
}

void* Library::find(const char* name) const { return ::dlsym(handle_, name); }

std::string Library::describe(const char* function, abi::Return code) const {
  if (functions_.error_string == nullptr) return fmt::format("{}: error {}", function, code);
  return fmt::format("{}: {}", function, functions_.error_string(code));
}

std::string find_below(const std::string& driver_root) {
  for (const char* folder :
       {"/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib64",
        "/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu"}) {
    const std::string path = below(driver_root, fmt::format("{}/{}", folder, kSoname));
    if (path_exists(path)) return path;
  }
  return {};
}

}  // namespace tranche::node::nvml
