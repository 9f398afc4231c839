// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdio>
#include <string>
#include <string_view>

#include "core/gpu/pci_address.h"
#include "testbed/node/host_file_parts.h"

namespace tranche::testbed::sim {
namespace {

std::string version_text(const Driver& driver) {
  const std::string kind =
      driver.open_modules ? "NVIDIA UNIX Open Kernel Module for x86_64  " + driver.module_version +
                                "  Release Build  (builder@host)  Tue Oct 28 18:37:12 UTC 2025"
                          : "NVIDIA UNIX x86_64 Kernel Module  " + driver.module_version +
                                "  Tue Oct 28 18:37:12 UTC 2025";
  return "NVRM version: " + kind +
         "\nGCC version:  gcc version 12.2.0 (Debian 12.2.0-14+deb12u1)\n";
}

constexpr std::string_view kParams =
    "ResmanDebugLevel: 4294967295\n"
    "RmLogonRC: 1\n"
    "ModifyDeviceFiles: 1\n"
    "DeviceFileUID: 0\n"
    "DeviceFileGID: 0\n"
    "DeviceFileMode: 438\n"
    "InitializeSystemMemoryAllocations: 1\n"
    "UsePageAttributeTable: 4294967295\n"
    "EnableMSI: 1\n"
    "EnablePCIeGen3: 0\n"
    "MemoryPoolSize: 0\n"
    "KMallocHeapMaxSize: 0\n"
    "VMallocHeapMaxSize: 0\n"
    "IgnoreMMIOCheck: 0\n"
    "EnableStreamMemOPs: 0\n"
    "EnableUserNUMAManagement: 1\n"
    "NvLinkDisable: 0\n"
    "EnablePCIERelaxedOrderingMode: 0\n"
    "RegisterPCIDriver: 1\n"
    "EnableResizableBar: 0\n"
    "EnableGpuFirmware: 18\n"
    "EnableGpuFirmwareLogs: 2\n"
    "DynamicPowerManagement: 3\n"
    "PreserveVideoMemoryAllocations: 0\n"
    "EnableS0ixPowerManagement: 0\n"
    "OpenRmEnableUnsupportedGpus: 1\n"
    "ImexChannelCount: 2048\n"
    "CreateImexChannel0: 0\n"
    "GrdmaPciTopoCheckOverride: 0\n"
    "RegistryDwords: \"\"\n"
    "RegistryDwordsPerDevice: \"\"\n"
    "RmMsg: \"\"\n"
    "GpuBlacklist: \"\"\n"
    "TemporaryFilePath: \"\"\n"
    "ExcludedGpus: \"\"\n";

std::string information_text(const Gpu& gpu, const Driver& driver) {
  const bool wide = gpu.model.architecture >= 9;
  return "Model: \t\t " + gpu.model.name + "\nIRQ:   \t\t " + std::to_string(128 + gpu.minor) +
         "\nGPU UUID: \t " + gpu.uuid.text + "\nVideo BIOS: \t " + gpu.model.vbios +
         "\nBus Type: \t PCIe\nDMA Size: \t " + (wide ? "52" : "47") + " bits\nDMA Mask: \t " +
         (wide ? "0xfffffffffffff" : "0x7fffffffffff") + "\nBus Location: \t " +
         to_string(gpu.pci) + "\nDevice Minor: \t " + std::to_string(gpu.minor) +
         "\nGPU Firmware: \t " + driver.module_version + "\nGPU Excluded:\t No\n";
}

PlainFile capability(unsigned minor, unsigned mode) {
  return {.content = "DeviceFileMinor: " + std::to_string(minor) +
                     "\nDeviceFileMode: " + std::to_string(mode) + "\nDeviceFileModify: 1\n",
          .mode = 0444};
}

void add_capabilities(HostFiles& files, const World& world) {
  const std::string root = "/proc/driver/nvidia/capabilities";
  files[root + "/mig/config"] = capability(1, 256);
  files[root + "/mig/monitor"] = capability(2, 292);
  for (const Gpu& gpu : world.gpus) {
    const std::string mig = root + "/gpu" + std::to_string(gpu.minor) + "/mig";
    files[mig] = Folder{};
    for (const GpuInstance& instance : gpu.mig.instances) {
      files[mig + "/gi" + std::to_string(instance.id) + "/access"] =
          capability(gpu_instance_cap(gpu.minor, instance.id), 292);
    }
    for (const auto& [instance, compute] : list_mig_devices(gpu)) {
      files[mig + "/gi" + std::to_string(instance->id) + "/ci" + std::to_string(compute->id) +
            "/access"] =
          capability(compute_instance_cap(gpu.minor, instance->id, compute->id), 292);
    }
  }
}

// All that could ever be, not only what is: 32 GPUs, 15 instances on each, 8 in
// each of those.
std::string instance_minors_text(unsigned gpu, unsigned instance) {
  const std::string name = "gpu" + std::to_string(gpu) + "/gi" + std::to_string(instance);
  std::string text = name + "/access " + std::to_string(gpu_instance_cap(gpu, instance)) + "\n";
  for (unsigned compute = 0; compute < 8; ++compute) {
    text += name + "/ci" + std::to_string(compute) + "/access " +
            std::to_string(compute_instance_cap(gpu, instance, compute)) + "\n";
  }
  return text;
}

const std::string& mig_minors_text() {
  // Made once: it is the same in every world, and long.
  static const std::string all = [] {
    std::string text = "config 1\nmonitor 2\n";
    for (unsigned gpu = 0; gpu < 32; ++gpu) {
      for (unsigned instance = 0; instance < 15; ++instance) {
        text += instance_minors_text(gpu, instance);
      }
    }
    return text;
  }();
  return all;
}

std::string devices_line(unsigned major, std::string_view name) {
  std::array<char, 64> line{};
  std::snprintf(line.data(), line.size(), "%3u %s\n", major, std::string(name).c_str());
  return line.data();
}

std::string devices_text(const World& world) {
  std::string text = "Character devices:\n  1 mem\n 10 misc\n";
  if (world.driver.loaded && branch_of(world.driver) >= 550) {
    text += devices_line(kNvidiaMajor, "nvidia") + devices_line(kNvidiaMajor, "nvidia-modeset") +
            devices_line(kNvidiaMajor, "nvidiactl");
  } else if (world.driver.loaded) {
    text += devices_line(kNvidiaMajor, "nvidia-frontend");
  }
  text += devices_line(kDrmMajor, "drm");
  if (world.extras.infiniband > 0) text += devices_line(kInfinibandMajor, "infiniband_verbs");
  if (world.driver.loaded) {
    text += devices_line(kNvlinkMajor, "nvidia-nvlink") + devices_line(kCapsMajor, "nvidia-caps") +
            devices_line(kImexMajor, "nvidia-caps-imex-channels");
  }
  if (world.extras.gdrdrv) text += devices_line(kGdrdrvMajor, "gdrdrv");
  if (world.extras.nvidia_fs > 0) text += devices_line(kNvidiaFsMajor, "nvidia-fs");
  if (world.driver.loaded) {
    text += devices_line(kUvmMajor, "nvidia-uvm");
    if (!world.extras.nvswitches.empty()) text += devices_line(kNvSwitchMajor, "nvidia-nvswitch");
  }
  return text + "\nBlock devices:\n  8 sd\n259 blkext\n";
}

}  // namespace

void add_proc(HostFiles& files, const World& world) {
  files["/proc/devices"] = PlainFile{devices_text(world), 0444};
  files["/proc/sys/kernel/random/boot_id"] = PlainFile{world.boot_id + "\n", 0444};
  if (!world.driver.loaded) return;
  files["/proc/driver/nvidia/version"] = PlainFile{version_text(world.driver), 0444};
  files["/proc/driver/nvidia/params"] = PlainFile{std::string(kParams), 0444};
  files["/proc/driver/nvidia/registry"] = PlainFile{"Binary: \"\"\n", 0444};
  files["/proc/driver/nvidia/gpus"] = Folder{};
  for (const Gpu& gpu : world.gpus) {
    const std::string folder = "/proc/driver/nvidia/gpus/" + to_string(gpu.pci);
    files[folder + "/information"] = PlainFile{information_text(gpu, world.driver), 0444};
    files[folder + "/registry"] = PlainFile{"Binary: \"\"\n", 0444};
  }
  add_capabilities(files, world);
  files["/proc/driver/nvidia-caps/mig-minors"] = PlainFile{mig_minors_text(), 0444};
  files["/proc/driver/nvidia-caps/sys-minors"] = PlainFile{"fabric-imex-mgmt 4323\n", 0444};
}

}  // namespace tranche::testbed::sim
