// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/cdi/world_inventory.h"

#include <algorithm>

namespace tranche::tests {
namespace {

MigDevice mig_device(const sim::Gpu& gpu, const sim::GpuInstance& instance,
                     const sim::ComputeInstance& compute) {
  MigDevice device = {.uuid = compute.uuid, .index = compute.index};
  device.gpu_instance = instance.id;
  device.compute_instance = compute.id;
  const std::size_t attribute = instance.profile.find_first_of("+-");
  if (attribute != std::string::npos) {
    device.profile.attribute = instance.profile.substr(attribute);
  }
  device.gpu_instance_cap = sim::gpu_instance_cap(gpu.minor, instance.id);
  device.compute_instance_cap = sim::compute_instance_cap(gpu.minor, instance.id, compute.id);
  return device;
}

std::vector<MigDevice> mig_devices(const sim::Gpu& gpu) {
  std::vector<MigDevice> devices;
  for (const sim::GpuInstance& instance : gpu.mig.instances) {
    for (const sim::ComputeInstance& compute : instance.compute) {
      devices.push_back(mig_device(gpu, instance, compute));
    }
  }
  std::ranges::sort(devices, {}, &MigDevice::index);
  return devices;
}

}  // namespace

Inventory inventory_of(const sim::World& world) {
  Inventory inventory = {.driver = DriverKind::kNvml, .driver_version = world.driver.version};
  for (const sim::Gpu& gpu : world.gpus) {
    inventory.gpus.push_back({.uuid = gpu.uuid,
                              .index = static_cast<unsigned>(inventory.gpus.size()),
                              .minor = gpu.minor,
                              .pci = gpu.pci,
                              .mig_enabled = gpu.mig.enabled,
                              .mig = mig_devices(gpu)});
  }
  return inventory;
}

}  // namespace tranche::tests
