// SPDX-License-Identifier: Apache-2.0
#include "node/driver/device_node_source.h"

#include <fmt/core.h>

#include <algorithm>

namespace tranche::node {
namespace {

Gpu gpu_of_node(unsigned minor, const std::vector<KernelGpu>& kernel_gpus) {
  Gpu gpu{.uuid = GpuUuid(fmt::format("nvidia{}", minor)), .index = minor, .minor = minor};
  const auto known = std::ranges::find(kernel_gpus, minor, &KernelGpu::minor);
  if (known == kernel_gpus.end()) return gpu;
  if (!known->uuid.empty()) gpu.uuid = GpuUuid(known->uuid);
  gpu.model = known->model;
  gpu.pci = known->pci;
  return gpu;
}

}  // namespace

Status DeviceNodeSource::open() {
  if (kernel_.gpu_node_minors().empty()) {
    return Error{ErrorCode::kNotFound, "no GPU device nodes below " + kernel_.root()};
  }
  ++session_;
  return Done{};
}

Result<DriverReading> DeviceNodeSource::read(const ReadRequest&) {
  DriverReading reading{.kind = DriverKind::kDeviceNodes,
                        .driver_version = kernel_.driver_version(),
                        .session = session_};
  const std::vector<KernelGpu> kernel_gpus = kernel_.kernel_gpus();
  std::vector<GpuUuid> uuids;
  for (const unsigned minor : kernel_.gpu_node_minors()) {
    Gpu gpu = gpu_of_node(minor, kernel_gpus);
    if (gpu.pci) {
      gpu.numa_node = kernel_.numa_node(*gpu.pci);
      gpu.features = kernel_.features(*gpu.pci);
    }
    uuids.push_back(gpu.uuid);
    reading.gpus.push_back({.index = gpu.index, .gpu = std::move(gpu)});
  }
  reading.topology = Topology(std::move(uuids));
  return reading;
}

Result<std::vector<DriverEvent>> DeviceNodeSource::wait(std::chrono::milliseconds) {
  return Error{ErrorCode::kNotFound, "device nodes have no events"};
}

}  // namespace tranche::node
