// SPDX-License-Identifier: Apache-2.0
//
// Reads what the kernel knows of GPUs from /proc, /sys and /dev below a root folder. Every value
// may be unknown: in a container much of this is not mounted.
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
#include "core/gpu/gpu_features.h"
#include "core/gpu/pci_address.h"

namespace tranche::node {

// Minor numbers of the device nodes for MIG instances, from /proc/driver/nvidia-caps/mig-minors, by
// the GPU's own minor.
class MigMinors {
 public:
  // Ignores lines other than "gpuG/giI/access M" and "gpuG/giI/ciC/access M".
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

// Parses the "information" file.
KernelGpu parse_gpu_information(std::string_view text);

class KernelFiles {
 public:
  explicit KernelFiles(std::string root) : root_(std::move(root)) {}

  const std::string& root() const { return root_; }

  // Changes with every boot.
  Result<std::string> boot_id() const;
  std::optional<unsigned> numa_node(const PciAddress& address) const;
  // PCI class, and whether it is a virtual GPU. The rest of the features are the driver's.
  GpuFeatures features(const PciAddress& address) const;
  // Empty: the kernel's list of PCI devices cannot be read.
  std::optional<bool> has_pci_device(const PciAddress& address) const;
  // Identifies the binding of NVIDIA's driver to the device; each bind has another number. Empty:
  // not bound, or /sys is not readable.
  std::optional<std::uint64_t> driver_binding(const PciAddress& address) const;
  MigMinors mig_minors() const;
  std::vector<KernelGpu> kernel_gpus() const;
  // Version of the loaded kernel module; empty: unknown.
  std::string driver_version() const;
  // The GPUs that the kernel has bound to the driver, as one text; empty: unknown. The management
  // library lists the GPUs of the time when it was opened, so this detects one plugged in since.
  std::string gpu_set() const;
  // Whether the kernel module is loaded; empty: unknown.
  std::optional<bool> has_driver_module() const;
  // N of each /dev/nvidiaN, sorted.
  std::vector<unsigned> gpu_node_minors() const;
  std::string kernel_log_path() const;

 private:
  std::string root_;
};

// Those of /dev/nvidiactl, nvidia-uvm, nvidia-uvm-tools and nvidia-modeset that exist below
// `dev_root`.
std::vector<std::string> control_nodes(const std::string& dev_root);

// The wanted channels whose node exists below one of the roots.
std::vector<unsigned> imex_channels(const std::vector<unsigned>& wanted,
                                    const std::vector<std::string>& dev_roots);

}  // namespace tranche::node
