// SPDX-License-Identifier: Apache-2.0
#include "nvml/read_gpu.h"

#include <array>
#include <utility>

#include "nvml/read_mig.h"
#include "nvml/read_vitals.h"

namespace tranche::nvml {
namespace {

GpuFailure failure_of(const Library& library, const char* function, abi::Return code) {
  GpuFailure failure{FailureKind::kOther, library.describe(function, code)};
  if (code == abi::kGpuIsLost) failure.kind = FailureKind::kLost;
  if (code == abi::kResetRequired) failure.kind = FailureKind::kNeedsReset;
  return failure;
}

class Reader {
 public:
  Reader(const Session& session, const HostFiles& host, const GpuQuestion& question)
      : session_(session), api_(session.api()), host_(host), question_(question) {
    answer_.reading.index = question.index;
    answer_.is_registered = question.is_registered;
  }

  GpuAnswer read() && {
    Gpu gpu;
    if (find_handle() && read_identity(gpu) && read_slices(gpu)) {
      answer_.reading.vitals = read_vitals(session_, answer_.handle, question_.wish);
      register_events();
    }
    // Where it stopped answering half-way, what it was is still known.
    if (!answer_.reading.failure) {
      answer_.reading.gpu = std::move(gpu);
    } else if (question_.known && question_.known->uuid == gpu.uuid) {
      answer_.reading.gpu = question_.known;
    }
    return std::move(answer_);
  }

 private:
  // Notes the first failure; says whether there was none.
  bool went_well(const char* function, abi::Return code) {
    if (code == abi::kSuccess) return true;
    answer_.reading.failure = failure_of(session_.library(), function, code);
    return false;
  }

  bool find_handle() {
    return went_well("nvmlDeviceGetHandleByIndex",
                     api_.device_by_index(question_.index, &answer_.handle));
  }

  bool read_identity(Gpu& gpu) {
    std::array<char, abi::kUuidSize> uuid{};
    if (!went_well("nvmlDeviceGetUUID",
                   api_.uuid(answer_.handle, uuid.data(), static_cast<unsigned>(uuid.size())))) {
      return false;
    }
    gpu.uuid = GpuUuid(uuid.data());
    if (question_.known && question_.known->uuid == gpu.uuid) {
      gpu = *question_.known;
      gpu.index = question_.index;
      // The size can be missing for a moment: then it is asked for again.
      if (gpu.memory_bytes == 0) read_memory(gpu);
      return question_.is_of_this_session || read_place(gpu);
    }
    gpu.index = question_.index;
    return read_place(gpu) && read_kind(gpu);
  }

  // A value that this driver or this GPU does not have is left out. Any other
  // failure is the GPU's.
  bool optional_value(const char* function, abi::Return code, bool& has_it) {
    has_it = code == abi::kSuccess;
    if (code == abi::kNotSupported || code == abi::kFunctionNotFound) return true;
    return went_well(function, code);
  }

  bool read_place(Gpu& gpu) {
    bool has_it = false;
    if (api_.minor_number != nullptr) {
      unsigned minor = 0;
      if (!optional_value("nvmlDeviceGetMinorNumber", api_.minor_number(answer_.handle, &minor),
                          has_it)) {
        return false;
      }
      if (has_it) gpu.minor = minor;
    }
    if (api_.pci_info != nullptr) {
      abi::PciInfo pci{};
      if (!optional_value("nvmlDeviceGetPciInfo", api_.pci_info(answer_.handle, &pci), has_it)) {
        return false;
      }
      if (has_it) gpu.pci = PciAddress{pci.domain, pci.bus, pci.device, 0};
    }
    if (gpu.pci) gpu.numa_node = host_.numa_node(*gpu.pci);
    return true;
  }

  bool read_kind(Gpu& gpu) {
    bool has_it = false;
    if (api_.name != nullptr) {
      std::array<char, abi::kNameSize> name{};
      const auto code = api_.name(answer_.handle, name.data(), static_cast<unsigned>(name.size()));
      if (!optional_value("nvmlDeviceGetName", code, has_it)) return false;
      if (has_it) gpu.model = name.data();
    }
    read_memory(gpu);
    if (api_.compute_capability != nullptr) {
      int major = 0;
      int minor = 0;
      if (api_.compute_capability(answer_.handle, &major, &minor) == abi::kSuccess) {
        gpu.compute_major = static_cast<unsigned>(major);
        gpu.compute_minor = static_cast<unsigned>(minor);
      }
    }
    return true;
  }

  void read_memory(Gpu& gpu) {
    if (api_.memory_info == nullptr) return;
    abi::Memory memory{};
    // Tolerated as NVIDIA's plugin does: parts with shared memory fail here.
    if (api_.memory_info(answer_.handle, &memory) == abi::kSuccess) {
      gpu.memory_bytes = memory.total;
    }
  }

  bool read_slices(Gpu& gpu) {
    const MigReading slices = read_mig(session_, host_, answer_.handle, gpu);
    if (!went_well(slices.function, slices.code)) return false;
    gpu.mig_enabled = slices.enabled;
    gpu.mig = slices.devices;
    return true;
  }

  void register_events() {
    if (answer_.is_registered) return;
    if (!question_.events) {
      answer_.reading.unwatched = question_.why_no_events;
      return;
    }
    constexpr unsigned long long kWanted = abi::kEventXid | abi::kEventDoubleBitEcc |
                                           abi::kEventMigConfigChange | abi::kEventGpuUnavailable |
                                           abi::kEventRecoveryAction;
    unsigned long long supported = 0;
    abi::Return code = api_.supported_events(answer_.handle, &supported);
    if (code == abi::kSuccess && (supported & kWanted) != 0) {
      code = api_.register_events(answer_.handle, supported & kWanted, question_.events->handle());
    }
    // Too old a GPU has no events; that is known and said nowhere.
    answer_.is_registered = code == abi::kSuccess || code == abi::kNotSupported;
    if (!answer_.is_registered) {
      answer_.reading.unwatched = session_.library().describe("nvmlDeviceRegisterEvents", code);
    }
  }

  const Session& session_;
  const Functions& api_;
  const HostFiles& host_;
  const GpuQuestion& question_;
  GpuAnswer answer_;
};

}  // namespace

GpuAnswer read_gpu(const Session& session, const HostFiles& host, const GpuQuestion& question) {
  return Reader(session, host, question).read();
}

}  // namespace tranche::nvml
