// SPDX-License-Identifier: Apache-2.0
#include "node/driver/nvml/read_gpu.h"

#include <fmt/core.h>

#include <array>
#include <string>
#include <utility>

#include "node/driver/nvml/failure.h"
#include "node/driver/nvml/read_card.h"
#include "node/driver/nvml/read_vitals.h"
#include "node/driver/nvml/witness.h"

namespace tranche::node::nvml {
namespace {

// No GPU has a PiB.
constexpr std::uint64_t kTooMuchMemory = 1ULL << 50;

class Reader {
 public:
  Reader(const Session& session, const KernelFiles& kernel, const GpuQuestion& question)
      : session_(session),
        api_(session.api()),
        kernel_(kernel),
        question_(question),
        witness_(session.library()) {
    answer_.reading.index = question.index;
    answer_.is_registered = question.is_registered;
  }

  GpuAnswer read() && {
    Gpu gpu{.index = question_.index};
    if (find_handle() && read_uuid(gpu)) {
      find_known(gpu.uuid);
      if (read_facts(gpu)) {
        // First, so that no change of its MIG devices goes unnoticed.
        register_events();
        if (read_slices(gpu)) read_health();
      }
    }
    if (witness_.failure()) answer_.reading.failure = witness_.failure();
    answer_.is_complete = is_complete_ && !answer_.reading.failure;
    return std::move(answer_);
  }

 private:
  // Notes the first failure. True: the call succeeded.
  bool went_well(const char* function, abi::Return code) {
    if (witness_.hear(function, code) == abi::kSuccess) return true;
    answer_.reading.failure = failure_of(session_.library(), function, code);
    return false;
  }

  void read_health() {
    ReadRequest request = question_.request;
    // Record the links that are up before one goes down.
    request.links = request.links || !is_current();
    const VitalsReading read = read_vitals(session_, answer_.handle, request, witness_);
    answer_.reading.vitals = read.vitals;
    // While the fabric starts again, the clique that it had stays.
    const bool has_fabric = read.clique || read.vitals.fabric_ready.value_or(false);
    if (has_fabric && answer_.reading.gpu) answer_.reading.gpu->features.fabric = read.clique;
    const CardReading card = read_card(session_, answer_.handle, witness_);
    answer_.reading.failure = card.failure;
    answer_.is_unread = !card.answered && !card.failure;
    // Some GPUs report the need for a reset only here.
    abi::Memory memory{};
    if (api_.memory_info == nullptr || !is_current()) return;
    witness_.hear("nvmlDeviceGetMemoryInfo", api_.memory_info(answer_.handle, &memory));
  }

  bool find_handle() {
    return went_well("nvmlDeviceGetHandleByIndex",
                     api_.device_by_index(question_.index, &answer_.handle));
  }

  bool read_uuid(Gpu& gpu) {
    std::array<char, abi::kUuidSize> uuid{};
    if (!went_well("nvmlDeviceGetUUID",
                   api_.uuid(answer_.handle, uuid.data(), static_cast<unsigned>(uuid.size())))) {
      return false;
    }
    gpu.uuid = GpuUuid(uuid.data());
    return true;
  }

  // If it stops answering half-way, the last reading stays.
  void find_known(const GpuUuid& uuid) {
    const auto found = question_.known->find(uuid);
    if (found == question_.known->end()) return;
    known_ = &found->second;
    answer_.reading.gpu = known_->gpu;
    answer_.reading.gpu->index = question_.index;
    answer_.slices = known_->slices;
  }

  bool is_current() const {
    return known_ != nullptr && known_->is_current && !question_.read_whole;
  }

  bool read_facts(Gpu& gpu) {
    if (!is_current()) return read_place(gpu) && read_kind(gpu);
    gpu = known_->gpu;
    gpu.index = question_.index;
    gpu.mig.clear();
    return true;
  }

  // An unsupported value is left out. Any other failure counts for the GPU.
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
    if (gpu.pci) gpu.numa_node = kernel_.numa_node(*gpu.pci);
    read_features(gpu);
    return true;
  }

  // Once for a GPU in its slot: they never change.
  void read_features(Gpu& gpu) {
    const bool is_known = known_ != nullptr && known_->gpu.pci == gpu.pci;
    if (is_known) gpu.features = known_->gpu.features;
    if (!gpu.pci || (gpu.features.pci_class && gpu.features.is_vgpu)) return;
    const GpuFeatures read = kernel_.features(*gpu.pci);
    gpu.features.pci_class = read.pci_class;
    gpu.features.is_vgpu = read.is_vgpu;
    gpu.features.vgpu_host = read.vgpu_host;
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
    read_compute_capability(gpu);
    return true;
  }

  void read_compute_capability(Gpu& gpu) {
    if (api_.compute_capability == nullptr) return;
    int major = 0;
    int minor = 0;
    const abi::Return code = witness_.hear("nvmlDeviceGetCudaComputeCapability",
                                           api_.compute_capability(answer_.handle, &major, &minor));
    if (code == abi::kSuccess) {
      gpu.compute_major = static_cast<unsigned>(major);
      gpu.compute_minor = static_cast<unsigned>(minor);
    } else if (code != abi::kNotSupported && code != abi::kFunctionNotFound) {
      is_complete_ = false;
      if (known_ == nullptr) return;
      gpu.compute_major = known_->gpu.compute_major;
      gpu.compute_minor = known_->gpu.compute_minor;
    }
  }

  // A failure counts only if MIG devices are named by the size. NVIDIA's plugin tolerates it too,
  // because parts with shared memory fail here.
  void read_memory(Gpu& gpu) {
    if (api_.memory_info == nullptr) return;
    abi::Memory memory{};
    const abi::Return code =
        witness_.hear("nvmlDeviceGetMemoryInfo", api_.memory_info(answer_.handle, &memory));
    if (code == abi::kSuccess && memory.total > 0 && memory.total < kTooMuchMemory) {
      gpu.memory_bytes = memory.total;
      return;
    }
    no_memory_size_ = failure_of(session_.library(), "nvmlDeviceGetMemoryInfo", code);
    if (code == abi::kSuccess) {
      no_memory_size_->what = fmt::format("nvmlDeviceGetMemoryInfo answers {} bytes", memory.total);
    }
    if (code == abi::kNotSupported || code == abi::kFunctionNotFound) return;
    is_complete_ = false;
    if (known_ != nullptr) gpu.memory_bytes = known_->gpu.memory_bytes;
  }

  bool read_slices(Gpu& gpu) {
    if (gpu.memory_bytes == 0 && !no_memory_size_) {
      no_memory_size_ = GpuFailure{.what = "the driver did not report it"};
    }
    MigQuestion question{.handle = answer_.handle,
                         .memory_bytes = gpu.memory_bytes,
                         .no_memory_size = no_memory_size_,
                         .minor = gpu.minor};
    if (is_current()) question.known = known_->slices;
    MigReading mig = read_mig(session_, kernel_, question);
    answer_.reading.failure = mig.failure;
    if (!mig.enabled) return false;  // the last reading stays
    gpu.mig_enabled = *mig.enabled;
    gpu.features.mig_capable = mig.is_capable;
    // If its MIG devices cannot be read, the known ones stay.
    if (!mig.failure) answer_.slices = std::move(mig.slices);
    for (const Slice& slice : answer_.slices) gpu.mig.push_back(slice.device);
    answer_.reading.gpu = std::move(gpu);
    return !mig.failure;
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
    abi::Return code = witness_.hear("nvmlDeviceGetSupportedEventTypes",
                                     api_.supported_events(answer_.handle, &supported));
    if (code == abi::kSuccess && (supported & kWanted) != 0) {
      code = witness_.hear(
          "nvmlDeviceRegisterEvents",
          api_.register_events(answer_.handle, supported & kWanted, question_.events->handle()));
    }
    // Old GPUs have no events; that is documented and not logged.
    answer_.is_registered = code == abi::kSuccess || code == abi::kNotSupported;
    if (!answer_.is_registered) {
      answer_.reading.unwatched = session_.library().describe("nvmlDeviceRegisterEvents", code);
    }
  }

  const Session& session_;
  const Functions& api_;
  const KernelFiles& kernel_;
  const GpuQuestion& question_;
  const KnownGpu* known_ = nullptr;           // the last reading of this GPU
  std::optional<GpuFailure> no_memory_size_;  // why its size is unknown
  bool is_complete_ = true;
  Witness witness_;
  GpuAnswer answer_;
};

}  // namespace

GpuAnswer read_gpu(const Session& session, const KernelFiles& kernel, const GpuQuestion& question) {
  return Reader(session, kernel, question).read();
}

}  // namespace tranche::node::nvml
