// SPDX-License-Identifier: Apache-2.0
#include "node/capture/capture.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/path.h"
#include "base/text.h"
#include "node/capture/details.h"
#include "node/driver/nvml/library.h"
#include "node/driver/nvml/read_topology.h"
#include "node/driver/nvml/session.h"
#include "os/files.h"

namespace tranche::node {
namespace {

namespace abi = nvml::abi;

std::string one_line(const KernelFiles& kernel, const std::string& path) {
  const auto content = read_file(below(kernel.root(), path));
  return content ? std::string(trim(*content)) : std::string();
}

unsigned count_names(const KernelFiles& kernel, const std::string& folder,
                     std::string_view prefix) {
  const auto names = list_directory(below(kernel.root(), folder));
  if (!names) return 0;
  return static_cast<unsigned>(std::ranges::count_if(
      *names, [&](const std::string& name) { return name.starts_with(prefix); }));
}

// "card1" with prefix "card" is 1.
std::optional<unsigned> number_of(const KernelFiles& kernel, const std::string& folder,
                                  std::string_view prefix) {
  const auto names = list_directory(below(kernel.root(), folder));
  if (!names) return std::nullopt;
  for (const std::string& name : *names) {
    if (!name.starts_with(prefix)) continue;
    if (const auto number = parse_number<unsigned>(name.substr(prefix.size()))) return number;
  }
  return std::nullopt;
}

void read_kernel_side(const KernelFiles& kernel, CapturedGpu& gpu) {
  const std::string folder = "/sys/bus/pci/devices/" + to_string(gpu.pci);
  gpu.numa_node = kernel.numa_node(gpu.pci);
  gpu.cpus = one_line(kernel, folder + "/local_cpulist");
  const std::string pci_class = one_line(kernel, folder + "/class");
  if (pci_class.starts_with("0x")) {
    gpu.pci_class = parse_number<unsigned>(std::string_view(pci_class).substr(2), 16);
  }
  gpu.drm_card = number_of(kernel, folder + "/drm", "card");
  gpu.drm_render = number_of(kernel, folder + "/drm", "renderD");
}

Result<CapturedGpu> capture_gpu(const nvml::Session& session, const KernelFiles& kernel,
                                abi::Device handle) {
  const nvml::Functions& api = session.api();
  CapturedGpu gpu;
  std::array<char, abi::kUuidSize> text{};
  abi::PciInfo pci{};
  const abi::Return code = api.uuid(handle, text.data(), static_cast<unsigned>(text.size()));
  if (code != abi::kSuccess) {
    return Error{ErrorCode::kUnavailable, session.library().describe("nvmlDeviceGetUUID", code)};
  }
  gpu.uuid = text.data();
  if (api.pci_info == nullptr || api.pci_info(handle, &pci) != abi::kSuccess) {
    return Error{ErrorCode::kUnavailable, gpu.uuid + " does not report its PCI address"};
  }
  gpu.pci = {pci.domain, pci.bus, pci.device, 0};
  gpu.device_id = pci.pci_device_id >> 16;
  gpu.subsystem_id = pci.pci_subsystem_id >> 16;
  gpu.subsystem_vendor = pci.pci_subsystem_id & 0xFFFFU;
  unsigned minor = 0;
  if (api.minor_number != nullptr && api.minor_number(handle, &minor) == abi::kSuccess) {
    gpu.minor = minor;
  }
  if (api.name != nullptr &&
      api.name(handle, text.data(), static_cast<unsigned>(text.size())) == abi::kSuccess) {
    gpu.name = text.data();
  }
  abi::Memory memory{};
  if (api.memory_info != nullptr && api.memory_info(handle, &memory) == abi::kSuccess) {
    gpu.memory_mib = memory.total >> 20;
  }
  int major_version = 0;
  int minor_version = 0;
  if (api.compute_capability != nullptr &&
      api.compute_capability(handle, &major_version, &minor_version) == abi::kSuccess) {
    gpu.compute_major = static_cast<unsigned>(major_version);
    gpu.compute_minor = static_cast<unsigned>(minor_version);
  }
  read_kernel_side(kernel, gpu);
  read_details(session, handle, gpu);
  return gpu;
}

void read_system(const nvml::Session& session, const KernelFiles& kernel, CapturedNode& node) {
  const nvml::Functions& api = session.api();
  std::array<char, abi::kVersionSize> text{};
  if (api.driver_version != nullptr &&
      api.driver_version(text.data(), static_cast<unsigned>(text.size())) == abi::kSuccess) {
    node.driver_version = text.data();
  }
  int cuda = 0;
  if (api.cuda_version != nullptr && api.cuda_version(&cuda) == abi::kSuccess) {
    node.cuda_version = fmt::format("{}.{}", cuda / 1000, cuda % 1000 / 10);
  }
  node.open_modules = one_line(kernel, "/proc/driver/nvidia/version").find("Open Kernel Module") !=
                      std::string::npos;
  if (const auto boot_id = kernel.boot_id()) node.boot_id = *boot_id;
  node.nvidia_fs = count_names(kernel, "/dev", "nvidia-fs");
  node.gdrdrv = path_exists(below(kernel.root(), "/dev/gdrdrv"));
  node.infiniband = count_names(kernel, "/dev/infiniband", "uverbs");
  node.imex_channels = count_names(kernel, "/dev/nvidia-caps-imex-channels", "channel");
}

}  // namespace

Result<CapturedNode> capture_node(const DriverOptions& options, const KernelFiles& kernel) {
  const std::string found = nvml::find_below(options.container_root);
  auto library = nvml::Library::open(found.empty() ? nvml::kSoname : found);
  if (!library) return library.error();
  const auto opened = nvml::Session::open(*std::move(library));
  if (!opened) return opened.error();
  const nvml::Session& session = **opened;

  CapturedNode node;
  read_system(session, kernel, node);
  unsigned count = 0;
  const abi::Return counted = session.api().device_count(&count);
  if (counted != abi::kSuccess) {
    return Error{ErrorCode::kUnavailable,
                 session.library().describe("nvmlDeviceGetCount", counted)};
  }
  std::vector<nvml::PlacedGpu> placed;
  for (unsigned index = 0; index < count; ++index) {
    abi::Device handle = nullptr;
    const abi::Return code = session.api().device_by_index(index, &handle);
    if (code != abi::kSuccess) {
      return Error{ErrorCode::kUnavailable,
                   session.library().describe("nvmlDeviceGetHandleByIndex", code)}
          .in(fmt::format("GPU {}", index));
    }
    Result<CapturedGpu> gpu = capture_gpu(session, kernel, handle);
    if (!gpu) return gpu.error().in(fmt::format("GPU {}", index));
    placed.push_back({GpuUuid(gpu->uuid), handle, gpu->pci});
    node.gpus.push_back(*std::move(gpu));
  }
  node.topology = nvml::read_topology(session, placed);
  return node;
}

}  // namespace tranche::node
