// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdio>
#include <map>
#include <string>

#include "core/gpu/pci_address.h"
#include "testbed/node/host_file_parts.h"

namespace tranche::testbed::sim {
namespace {

std::string hex(unsigned number, int digits) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "0x%0*x", digits, number);
  return text.data();
}

std::string link_speed(unsigned generation) {
  switch (generation) {
    case 3: return "8.0 GT/s PCIe";
    case 4: return "16.0 GT/s PCIe";
    case 5: return "32.0 GT/s PCIe";
    case 6: return "64.0 GT/s PCIe";
    default: return "Unknown";
  }
}

void add_line(HostFiles& files, const std::string& path, const std::string& line) {
  files[path] = PlainFile{line + "\n", 0444};
}

// PCI configuration space, as far as a program tells a virtual GPU by it: the vendor, and a list
// with the vendor's capability, in which the hypervisor of a virtual GPU writes its version.
std::string config_space(unsigned device, unsigned pci_class, const Gpu* virtual_gpu) {
  constexpr std::size_t kAt = 0xd0;
  std::string config(256, '\0');
  config[0x00] = '\xde';
  config[0x01] = '\x10';
  for (unsigned i = 0; i < 2; ++i) config[0x02 + i] = static_cast<char>(device >> (8 * i));
  for (unsigned i = 0; i < 3; ++i) config[0x09 + i] = static_cast<char>(pci_class >> (8 * i));
  config[0x06] = '\x10';
  config[0x34] = static_cast<char>(kAt);
  config[kAt] = '\x09';
  config[kAt + 2] = '\x14';
  if (virtual_gpu == nullptr) return config;
  const auto text = [](std::string from) {
    from.resize(10, '\0');
    return from;
  };
  const std::string record = std::string("\x1bVF\0\x16", 5) +
                             text(virtual_gpu->vgpu_host.driver_version) +
                             text(virtual_gpu->vgpu_host.driver_branch);
  return config.replace(kAt + 2, record.size(), record);
}

// What NVIDIA's programs read of every PCI device of theirs; no memory is mapped.
void add_pci(HostFiles& files, const std::string& folder, const std::string& config) {
  files[folder + "/config"] = PlainFile{config, 0644};
  add_line(files, folder + "/resource", "0x0000000000000000 0x0000000000000000 0x0000000000000000");
}

void add_gpu(HostFiles& files, const Gpu& gpu, bool driver_loaded) {
  const std::string bdf = to_string(gpu.pci);
  const std::string folder = "/sys/bus/pci/devices/" + bdf;
  add_line(files, folder + "/vendor", "0x10de");
  add_line(files, folder + "/device", hex(gpu.model.device_id, 4));
  add_line(files, folder + "/subsystem_vendor", hex(gpu.model.subsystem_vendor, 4));
  add_line(files, folder + "/subsystem_device", hex(gpu.model.subsystem_id, 4));
  add_line(files, folder + "/class", hex(gpu.model.pci_class, 6));
  add_pci(files, folder,
          config_space(gpu.model.device_id, gpu.model.pci_class,
                       gpu.virtualization == 2 ? &gpu : nullptr));
  add_line(files, folder + "/numa_node", std::to_string(gpu.numa_node));
  add_line(files, folder + "/local_cpulist", gpu.cpus);
  add_line(files, folder + "/max_link_speed", link_speed(gpu.model.pcie_generation));
  add_line(files, folder + "/current_link_speed", link_speed(gpu.model.pcie_generation));
  if (gpu.drm_render != 0) {
    files[folder + "/drm/card" + std::to_string(gpu.drm_card)] = Folder{};
    files[folder + "/drm/renderD" + std::to_string(gpu.drm_render)] = Folder{};
  }
  if (!driver_loaded) return;
  files[folder + "/driver"] = SymLink{"../../drivers/nvidia", gpu.bindings};
  files["/sys/module/nvidia/drivers/pci:nvidia/" + bdf] =
      SymLink{"../../../../bus/pci/devices/" + bdf, gpu.bindings};
}

void add_switch(HostFiles& files, const PciAddress& pci) {
  const std::string folder = "/sys/bus/pci/devices/" + to_string(pci);
  add_line(files, folder + "/vendor", "0x10de");
  add_line(files, folder + "/device", "0x22a3");
  add_line(files, folder + "/class", "0x068000");
  add_pci(files, folder, config_space(0x22a3, 0x068000, nullptr));
  add_line(files, folder + "/numa_node", "-1");
}

}  // namespace

void add_sys(HostFiles& files, const World& world) {
  files["/sys/bus/pci/devices"] = Folder{};
  files["/sys/bus/pci/drivers/nvidia"] = Folder{};
  std::map<int, std::string> nodes;
  for (const Gpu& gpu : world.gpus) {
    add_gpu(files, gpu, world.driver.loaded);
    if (gpu.numa_node >= 0) nodes[gpu.numa_node] = gpu.cpus;
  }
  for (const auto& [node, cpus] : nodes) {
    add_line(files, "/sys/devices/system/node/node" + std::to_string(node) + "/cpulist", cpus);
  }
  for (const PciAddress& pci : world.extras.nvswitches) add_switch(files, pci);
  if (!world.driver.loaded) return;
  add_line(files, "/sys/module/nvidia/version", world.driver.module_version);
  add_line(files, "/sys/module/nvidia/initstate", "live");
  add_line(files, "/sys/module/nvidia/refcnt", std::to_string(world.gpus.size()));
}

}  // namespace tranche::testbed::sim
