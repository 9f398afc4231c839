// SPDX-License-Identifier: Apache-2.0
#include "node/capture/details.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"
#include "node/driver/nvml/fabric.h"

namespace tranche::node {
namespace {

namespace abi = nvml::abi;

constexpr unsigned kFieldNvLinkSpeed = 164;
constexpr int kVolatile = 0;
constexpr int kAggregate = 1;

class Details {
 public:
  Details(const nvml::Session& session, abi::Device gpu, CapturedGpu& captured)
      : library_(session.library()), gpu_(gpu), captured_(captured) {}

  void read() {
    read_kind();
    read_state();
    read_memory();
    read_counters();
    read_links();
    read_fabric();
    read_profiles();
    read_instances();
    read_processes();
  }

 private:
  // Calls a function by name. True: it exists and succeeded.
  template <typename... Arguments>
  bool call(const char* name, Arguments... arguments) const {
    using Function = abi::Return (*)(abi::Device, Arguments...);
    const auto function = reinterpret_cast<Function>(library_.find(name));
    return function != nullptr && function(gpu_, arguments...) == abi::kSuccess;
  }

  template <typename Number>
  std::optional<Number> number(const char* name) const {
    Number value{};
    return call(name, &value) ? std::optional(value) : std::nullopt;
  }

  std::optional<unsigned> choice(const char* name) const {
    const auto value = number<int>(name);
    return value ? std::optional(static_cast<unsigned>(*value)) : std::nullopt;
  }

  std::string text(const char* name) const {
    std::array<char, 96> buffer{};
    return call(name, buffer.data(), static_cast<unsigned>(buffer.size())) ? buffer.data() : "";
  }

  std::optional<std::uint64_t> field(unsigned id, unsigned scope = 0) const {
    abi::FieldValue value{};
    value.field_id = id;
    value.scope_id = scope;
    value.result = abi::kUnknown;
    if (!call("nvmlDeviceGetFieldValues", 1, &value) || value.result != abi::kSuccess) {
      return std::nullopt;
    }
    // A four-byte value leaves the upper half undefined.
    return value.value_type == abi::kValueUint ? value.value.ui : value.value.ull;
  }

  void read_kind() {
    captured_.brand = choice("nvmlDeviceGetBrand");
    captured_.architecture = number<unsigned>("nvmlDeviceGetArchitecture");
    captured_.cores = number<unsigned>("nvmlDeviceGetNumGpuCores");
    captured_.board_part = text("nvmlDeviceGetBoardPartNumber");
    captured_.vbios = text("nvmlDeviceGetVbiosVersion");
    captured_.has_serial = !text("nvmlDeviceGetSerial").empty();
    captured_.module_id = number<unsigned>("nvmlDeviceGetModuleId");
    captured_.pcie_generation = number<unsigned>("nvmlDeviceGetMaxPcieLinkGeneration");
    if (const auto limit = number<unsigned>("nvmlDeviceGetPowerManagementDefaultLimit")) {
      captured_.power_limit_w = *limit / 1000;
    }
  }

  void read_state() {
    if (const auto mode = choice("nvmlDeviceGetPersistenceMode")) {
      captured_.persistence = *mode == 1;
    }
    captured_.compute_mode = choice("nvmlDeviceGetComputeMode");
    captured_.virtualization = choice("nvmlDeviceGetVirtualizationMode");
    int current = 0;
    int pending = 0;
    captured_.ecc = call("nvmlDeviceGetEccMode", &current, &pending) && current == 1;
    unsigned celsius = 0;
    if (call("nvmlDeviceGetTemperature", 0, &celsius)) captured_.temperature_c = celsius;
    captured_.power_mw = number<unsigned>("nvmlDeviceGetPowerUsage");
  }

  void read_memory() {
    abi::MemoryV2 memory{};
    memory.version = abi::kMemoryV2;
    if (call("nvmlDeviceGetMemoryInfo_v2", &memory)) {
      captured_.memory_mib = memory.total >> 20;
      captured_.reserved_mib = memory.reserved >> 20;
    }
    abi::Memory bar1{};
    if (call("nvmlDeviceGetBAR1MemoryInfo", &bar1)) captured_.bar1_mib = bar1.total >> 20;
  }

  std::optional<std::uint64_t> ecc(int type, int counter) const {
    unsigned long long count = 0;
    if (!call("nvmlDeviceGetTotalEccErrors", type, counter, &count)) return std::nullopt;
    return count;
  }

  void read_counters() {
    captured_.ecc_volatile_corrected = ecc(0, kVolatile);
    captured_.ecc_volatile_uncorrected = ecc(1, kVolatile);
    captured_.ecc_aggregate_corrected = ecc(0, kAggregate);
    captured_.ecc_aggregate_uncorrected = ecc(1, kAggregate);
    captured_.energy_mj = field(abi::kFieldEnergy);
    captured_.pcie_replays = field(abi::kFieldPcieReplay);
    captured_.remaps_correctable = field(abi::kFieldRemapCorrectable);
    captured_.remaps_uncorrectable = field(abi::kFieldRemapUncorrectable);
    captured_.remap_pending = field(abi::kFieldRemapPending);
    captured_.remap_failed = field(abi::kFieldRemapFailure);
    captured_.recovery_action = field(abi::kFieldRecoveryAction);
    // With MIG enabled the driver does not report it, but every GPU with MIG remaps rows.
    unsigned current = 0;
    unsigned pending = 0;
    captured_.remaps_rows = captured_.remap_pending.has_value() ||
                            (call("nvmlDeviceGetMigMode", &current, &pending) && current == 1);
  }

  void read_links() {
    const unsigned count = static_cast<unsigned>(field(abi::kFieldNvLinkCount).value_or(0));
    for (unsigned number = 0; number < count; ++number) {
      int state = 0;
      CapturedLink link;
      link.active = call("nvmlDeviceGetNvLinkState", number, &state) && state == 1;
      int type = abi::kRemoteGpu;
      if (call("nvmlDeviceGetNvLinkRemoteDeviceType", number, &type) &&
          type == abi::kRemoteSwitch) {
        link.peer = CapturedLink::Peer::kSwitch;
      }
      abi::PciInfo peer{};
      if (call("nvmlDeviceGetNvLinkRemotePciInfo_v2", number, &peer) && peer.pci_device_id != 0) {
        link.pci = PciAddress{peer.domain, peer.bus, peer.device, 0};
      }
      captured_.links.push_back(link);
    }
    // Links of a single GPU in a virtual machine lead nowhere.
    std::erase_if(captured_.links, [](const CapturedLink& link) {
      return !link.active && link.peer == CapturedLink::Peer::kGpu && !link.pci;
    });
    unsigned version = 0;
    if (call("nvmlDeviceGetNvLinkVersion", 0U, &version)) captured_.nvlink_version = version;
    if (const auto speed = field(kFieldNvLinkSpeed)) {
      captured_.nvlink_mbps = static_cast<unsigned>(*speed);
    }
  }

  void read_fabric() {
    abi::FabricInfo info{};
    if (!call("nvmlDeviceGetGpuFabricInfo", &info)) return;
    constexpr std::array kStates{"not_supported", "not_started", "in_progress", "completed"};
    if (info.state >= kStates.size()) return;
    captured_.fabric = {kStates[info.state], info.status, info.clique_id,
                        nvml::cluster_uuid_text(info.cluster_uuid)};
    captured_.fabric_capable = info.state != abi::kFabricNotSupported;
  }

  void read_profiles() {
    for (unsigned argument = 0; argument < abi::kGpuInstanceProfiles; ++argument) {
      abi::GpuInstanceProfileInfoV2 info{.version = abi::kGpuInstanceProfileInfoV2};
      if (!call("nvmlDeviceGetGpuInstanceProfileInfoV", argument, &info)) continue;
      std::string name = info.name;
      if (name.starts_with("MIG ")) name = name.substr(4);
      CapturedProfile profile{name,
                              argument,
                              info.id,
                              info.slices,
                              info.instances,
                              info.memory_mib,
                              info.multiprocessors,
                              info.copy_engines,
                              info.decoders,
                              info.encoders,
                              info.jpegs,
                              info.ofas};
      read_places(profile);
      captured_.multiprocessors =
          std::max(captured_.multiprocessors.value_or(0), info.multiprocessors);
      captured_.profiles.push_back(std::move(profile));
    }
  }

  void read_places(CapturedProfile& profile) const {
    std::array<abi::Placement, 32> places{};
    auto count = static_cast<unsigned>(places.size());
    if (!call("nvmlDeviceGetGpuInstancePossiblePlacements_v2", profile.id, places.data(), &count)) {
      return;
    }
    for (unsigned i = 0; i < std::min<unsigned>(count, places.size()); ++i) {
      profile.starts.push_back(places[i].start);
      profile.size = places[i].size;
    }
    std::ranges::sort(profile.starts);
  }

  template <typename Function, typename... Arguments>
  bool call_on(const char* name, Arguments... arguments) const {
    const auto function = reinterpret_cast<Function>(library_.find(name));
    return function != nullptr && function(arguments...) == abi::kSuccess;
  }

  void read_instances() {
    unsigned current = 0;
    unsigned pending = 0;
    unsigned most = 0;
    captured_.mig_enabled = call("nvmlDeviceGetMigMode", &current, &pending) && current == 1;
    if (!captured_.mig_enabled || !call("nvmlDeviceGetMaxMigDeviceCount", &most)) return;
    for (unsigned index = 0; index < most; ++index) {
      abi::Device mig = nullptr;
      if (call("nvmlDeviceGetMigDeviceHandleByIndex", index, &mig)) read_mig_device(mig, index);
    }
  }

  void read_mig_device(abi::Device mig, unsigned index) {
    const Details slice(library_, mig, captured_);
    const auto gpu_instance = slice.number<unsigned>("nvmlDeviceGetGpuInstanceId");
    const auto compute_id = slice.number<unsigned>("nvmlDeviceGetComputeInstanceId");
    abi::GpuInstance instance = nullptr;
    abi::ComputeInstance compute = nullptr;
    abi::GpuInstanceInfo instance_info{};
    abi::ComputeInstanceInfo compute_info{};
    using ById = abi::Return (*)(abi::GpuInstance, unsigned, abi::ComputeInstance*);
    using InstanceInfo = abi::Return (*)(abi::GpuInstance, abi::GpuInstanceInfo*);
    using ComputeInfo = abi::Return (*)(abi::ComputeInstance, abi::ComputeInstanceInfo*);
    if (!gpu_instance || !compute_id ||
        !call("nvmlDeviceGetGpuInstanceById", *gpu_instance, &instance) ||
        !call_on<InstanceInfo>("nvmlGpuInstanceGetInfo", instance, &instance_info) ||
        !call_on<ById>("nvmlGpuInstanceGetComputeInstanceById", instance, *compute_id, &compute) ||
        !call_on<ComputeInfo>("nvmlComputeInstanceGetInfo_v2", compute, &compute_info)) {
      return;
    }
    add_instance(instance_info)
        .compute.push_back({compute_info.id, compute_info.placement.size,
                            compute_info.placement.start, index, slice.text("nvmlDeviceGetUUID")});
  }

  CapturedGpuInstance& add_instance(const abi::GpuInstanceInfo& info) {
    const auto known = std::ranges::find(captured_.instances, info.id, &CapturedGpuInstance::id);
    if (known != captured_.instances.end()) return *known;
    const auto profile =
        std::ranges::find(captured_.profiles, info.profile_id, &CapturedProfile::id);
    const std::string name = profile == captured_.profiles.end() ? std::string() : profile->name;
    return captured_.instances.emplace_back(
        CapturedGpuInstance{name, info.id, info.placement.start, {}});
  }

  void read_processes() {
    unsigned count = 0;
    std::vector<abi::ProcessInfo> processes(64);
    count = static_cast<unsigned>(processes.size());
    if (!call("nvmlDeviceGetComputeRunningProcesses_v3", &count, processes.data())) return;
    for (unsigned i = 0; i < std::min<std::size_t>(count, processes.size()); ++i) {
      captured_.processes.push_back({processes[i].pid, processes[i].used_gpu_memory >> 20});
    }
  }

  // For the slices of a GPU.
  Details(const nvml::Library& library, abi::Device gpu, CapturedGpu& captured)
      : library_(library), gpu_(gpu), captured_(captured) {}

  const nvml::Library& library_;
  const abi::Device gpu_;
  CapturedGpu& captured_;
};

}  // namespace

void read_details(const nvml::Session& session, nvml::abi::Device gpu, CapturedGpu& captured) {
  Details(session, gpu, captured).read();
}

}  // namespace tranche::node
