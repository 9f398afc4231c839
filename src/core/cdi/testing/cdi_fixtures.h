// SPDX-License-Identifier: Apache-2.0
//
// Small nodes as literals, for the tests of the pure part.
#pragma once

#include <fmt/core.h>

#include <string>

#include "core/cdi/driver_files.h"
#include "core/gpu/inventory.h"

namespace tranche::core {

inline PciAddress pci_of(unsigned index) { return {.bus = 7 + index}; }

inline Gpu a_gpu(unsigned index) {
  return {.uuid = GpuUuid(fmt::format("GPU-{}", index)),
          .index = index,
          .minor = index,
          .pci = pci_of(index)};
}

inline MigDevice a_mig_device(unsigned index, unsigned cap) {
  return {.uuid = MigUuid(fmt::format("MIG-{}", index)),
          .index = index,
          .profile = {.compute_slices = 1, .gpu_slices = 1, .memory_gb = 10},
          .gpu_instance_cap = cap,
          .compute_instance_cap = cap + 1};
}

inline Inventory an_inventory(std::vector<Gpu> gpus) {
  return {.driver = DriverKind::kNvml, .driver_version = "580.95.05", .gpus = std::move(gpus)};
}

inline void add_node(DriverFiles& files, const std::string& path, unsigned major, unsigned minor) {
  files.nodes[path] = {.path = path, .major = major, .minor = minor, .mode = 0666};
}

// A driver with one library and the nodes of two GPUs.
inline DriverFiles a_driver() {
  DriverFiles files;
  files.version = "580.95.05";
  files.toolkit = {.version = ToolkitVersion{1, 20, 1}, .is_exact = true};
  files.library_folders = {"/usr/lib64"};
  files.libraries = {{.path = "/usr/lib64/libcuda.so.580.95.05",
                      .soname = "libcuda.so.1",
                      .links = {"libcuda.so", "libcuda.so.1"}}};
  add_node(files, "/dev/nvidiactl", 195, 255);
  add_node(files, "/dev/nvidia-uvm", 510, 0);
  add_node(files, "/dev/nvidia0", 195, 0);
  add_node(files, "/dev/nvidia1", 195, 1);
  return files;
}

}  // namespace tranche::core
