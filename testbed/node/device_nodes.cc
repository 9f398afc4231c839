// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "core/gpu/pci_address.h"
#include "testbed/node/host_file_parts.h"

namespace tranche::testbed::sim {
namespace {

void add_gpu(HostFiles& files, const Gpu& gpu) {
  files["/dev/nvidia" + std::to_string(gpu.minor)] = CharDevice{kNvidiaMajor, gpu.minor};
  if (gpu.drm_render == 0) return;
  const std::string card = "card" + std::to_string(gpu.drm_card);
  const std::string render = "renderD" + std::to_string(gpu.drm_render);
  files["/dev/dri/" + card] = CharDevice{kDrmMajor, gpu.drm_card, 0660};
  files["/dev/dri/" + render] = CharDevice{kDrmMajor, gpu.drm_render, 0660};
  const std::string by_path = "/dev/dri/by-path/pci-" + to_string(gpu.pci);
  files[by_path + "-card"] = SymLink{"../" + card};
  files[by_path + "-render"] = SymLink{"../" + render};
}

void add_cap(HostFiles& files, unsigned minor, unsigned mode) {
  files["/dev/nvidia-caps/nvidia-cap" + std::to_string(minor)] =
      CharDevice{kCapsMajor, minor, mode};
}

void add_caps(HostFiles& files, const World& world) {
  add_cap(files, 1, 0400);
  add_cap(files, 2, 0444);
  for (const Gpu& gpu : world.gpus) {
    for (const GpuInstance& instance : gpu.mig.instances) {
      add_cap(files, gpu_instance_cap(gpu.minor, instance.id), 0444);
    }
    for (const auto& [instance, compute] : list_mig_devices(gpu)) {
      add_cap(files, compute_instance_cap(gpu.minor, instance->id, compute->id), 0444);
    }
  }
}

void add_extras(HostFiles& files, const Extras& extras) {
  const auto numbered = [&](const std::string& path, unsigned count, unsigned major) {
    for (unsigned i = 0; i < count; ++i) files[path + std::to_string(i)] = CharDevice{major, i};
  };
  const auto switches = static_cast<unsigned>(extras.nvswitches.size());
  numbered("/dev/nvidia-nvswitch", switches, kNvSwitchMajor);
  if (switches > 0) files["/dev/nvidia-nvswitchctl"] = CharDevice{kNvSwitchMajor, 255};
  numbered("/dev/nvidia-fs", extras.nvidia_fs, kNvidiaFsMajor);
  if (extras.gdrdrv) files["/dev/gdrdrv"] = CharDevice{kGdrdrvMajor, 0};
  for (unsigned i = 0; i < extras.infiniband; ++i) {
    files["/dev/infiniband/uverbs" + std::to_string(i)] = CharDevice{kInfinibandMajor, 192 + i};
  }
  if (extras.infiniband > 0) files["/dev/infiniband/rdma_cm"] = CharDevice{10, 122};
  numbered("/dev/nvidia-caps-imex-channels/channel", extras.imex_channels, kImexMajor);
}

}  // namespace

// A GPU that fell off the bus keeps its node, and so do all of them when the
// driver is unloaded: nobody takes them away.
void add_device_nodes(HostFiles& files, const World& world) {
  files["/dev/nvidiactl"] = CharDevice{kNvidiaMajor, 255};
  files["/dev/nvidia-modeset"] = CharDevice{kNvidiaMajor, 254};
  files["/dev/nvidia-uvm"] = CharDevice{kUvmMajor, 0};
  files["/dev/nvidia-uvm-tools"] = CharDevice{kUvmMajor, 1};
  for (const Gpu& gpu : world.gpus) {
    add_gpu(files, gpu);
    if (!gpu.links.empty()) files["/dev/nvidia-nvlink"] = CharDevice{kNvlinkMajor, 0};
  }
  add_caps(files, world);
  add_extras(files, world.extras);
}

}  // namespace tranche::testbed::sim
