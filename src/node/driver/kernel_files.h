// SPDX-License-Identifier: Apache-2.0
//
// What the kernel tells of GPUs in /proc, /sys and /dev, read below a root
// folder. Reads and translates; decides nothing. Every answer may be "not
// known": in a container much of this is not mounted.
//
// Thread-safe: holds a path only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "core/gpu/pci_address.h"

namespace tranche::node {

// The minors of the device nodes that open MIG instances, from
// /proc/driver/nvidia-caps/mig-minors. Keyed by the GPU's own minor.
class MigMinors {
 public:
  // Lines that are not "gpuG/giI/access M" or "gpuG/giI/ciC/access M" are
  // passed over: the file has others.
  static MigMinors parse(std::string_view text);

  std::optional<unsigned> gpu_instance(unsigned gpu_minor, unsigned instance) const;
  std::optional<unsigned> compute_instance(unsigned gpu_minor, unsigned gpu_instance,
                                           unsigned instance) const;

 private:
  // GPU minor, GPU instance, compute instance or -1.
  std::map<std::tuple<unsigned, unsigned, int>, unsigned> minors_;
};

// One GPU of /proc/driver/nvidia/gpus.
struct KernelGpu {
  std::string model;
  std::string uuid;  // empty until the GPU has been used once since boot
  std::optional<PciAddress> pci;
  std::optional<unsigned> minor;

  bool operator==(const KernelGpu&) const = default;
};

// Reads the "information" file's text.
KernelGpu parse_gpu_information(std::string_view text);

class KernelFiles {
 public:
  explicit KernelFiles(std::string root) : root_(std::move(root)) {}

  const std::string& root() const { return root_; }

  // Changes with every boot.
  Result<std::string> boot_id() const;
  std::optional<unsigned> numa_node(const PciAddress& address) const;
  // Empty when the kernel's list of PCI devices cannot be read.
  std::optional<bool> has_pci_device(const PciAddress& address) const;
  // A number for the kernel's binding of NVIDIA's driver to the device: another one
  // each time that it is bound. Empty where it is not bound, or /sys does not tell.
  std::optional<std::uint64_t> driver_binding(const PciAddress& address) const;
  MigMinors mig_minors() const;
  std::vector<KernelGpu> kernel_gpus() const;
  // Of the loaded kernel module; empty when it is not loaded or not told.
  std::string driver_version() const;
  // Which GPUs the kernel has given to the driver, as one text; empty where it
  // does not tell. The management library lists GPUs as they were when it was
  // opened, so this is how one that was plugged in since is noticed.
  std::string gpu_set() const;
  // Whether the kernel module is loaded; empty where /sys does not tell.
  std::optional<bool> has_driver_module() const;
  // N of each /dev/nvidiaN, sorted.
  std::vector<unsigned> gpu_node_minors() const;
  std::string kernel_log_path() const;

 private:
  std::string root_;
};

// Of /dev/nvidiactl, nvidia-uvm, nvidia-uvm-tools and nvidia-modeset, those
// that exist below `dev_root`.
std::vector<std::string> control_nodes(const std::string& dev_root);

// Of the channels asked for, those whose node exists below one of the roots.
std::vector<unsigned> imex_channels(const std::vector<unsigned>& wanted,
                                    const std::vector<std::string>& dev_roots);

}  // namespace tranche::node
