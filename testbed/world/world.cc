// SPDX-License-Identifier: Apache-2.0
#include "testbed/world/world.h"

#include <algorithm>

#include "base/text.h"

namespace tranche::testbed::sim {
namespace {

bool shares(const std::string& a, const std::string& b) { return !a.empty() && a == b; }

unsigned slices_of(const GpuInstanceProfile& profile, unsigned compute_profile) {
  for (const ComputeInstanceProfile& offered : compute_profiles(profile)) {
    if (offered.id == compute_profile) return offered.slices;
  }
  return 0;
}

}  // namespace

unsigned branch_of(const Driver& driver) {
  return parse_number<unsigned>(split(driver.version, '.').front()).value_or(0);
}

const Gpu* find_gpu(const World& world, const GpuUuid& uuid) {
  const auto found = std::ranges::find(world.gpus, uuid, &Gpu::uuid);
  return found == world.gpus.end() ? nullptr : &*found;
}

std::vector<MigDeviceView> list_mig_devices(const Gpu& gpu) {
  std::vector<MigDeviceView> devices;
  for (const GpuInstance& instance : gpu.mig.instances) {
    for (const ComputeInstance& compute : instance.compute) {
      devices.push_back({&instance, &compute});
    }
  }
  return devices;
}

std::string profile_name(const Gpu& gpu, const GpuInstance& instance,
                         const ComputeInstance& compute) {
  const GpuInstanceProfile* profile = find_profile(gpu.model.mig, instance.profile);
  if (profile == nullptr) return instance.profile;
  return compute_profile_name(*profile, slices_of(*profile, compute.profile));
}

PcieLevel level_between(const World& world, const Gpu& a, const Gpu& b) {
  for (const PairLevel& pair : world.pair_levels) {
    if ((pair.a == a.pci && pair.b == b.pci) || (pair.a == b.pci && pair.b == a.pci)) {
      return pair.level;
    }
  }
  if (shares(a.place.board, b.place.board)) return PcieLevel::kBoard;
  if (shares(a.place.pcie_switch, b.place.pcie_switch)) return PcieLevel::kSwitch;
  if (shares(a.place.upstream, b.place.upstream)) return PcieLevel::kSwitches;
  if (shares(a.place.bridge, b.place.bridge)) return PcieLevel::kBridge;
  if (a.numa_node >= 0 && a.numa_node == b.numa_node) return PcieLevel::kNode;
  return PcieLevel::kSystem;
}

// Each GPU has room for 15 GPU instances, each of those for 8 compute
// instances; 1 and 2 are taken by the capabilities to configure and to monitor.
unsigned gpu_instance_cap(unsigned gpu_minor, unsigned gpu_instance) {
  return 3 + 135 * gpu_minor + 9 * gpu_instance;
}

unsigned compute_instance_cap(unsigned gpu_minor, unsigned gpu_instance,
                              unsigned compute_instance) {
  return gpu_instance_cap(gpu_minor, gpu_instance) + 1 + compute_instance;
}

}  // namespace tranche::testbed::sim
