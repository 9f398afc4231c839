// SPDX-License-Identifier: Apache-2.0
//
// Facts of a card that only describe it: nothing is offered or judged by them. A fact that cannot
// be read is unknown, and never a fault of the GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tranche::core {

// Units of a MIG device; its slices and memory are in its profile and size.
struct MigUnits {
  unsigned multiprocessors = 0;
  unsigned copy_engines = 0;
  unsigned decoders = 0;
  unsigned encoders = 0;
  unsigned jpeg_engines = 0;
  unsigned ofa_engines = 0;

  bool operator==(const MigUnits&) const = default;
};

// The part of an NVLink fabric in which GPUs reach each other; it may span nodes.
struct FabricClique {
  std::string cluster;  // uuid
  unsigned clique = 0;

  bool operator==(const FabricClique&) const = default;
};

// What a virtual GPU's hypervisor tells its guest.
struct VgpuHost {
  std::string driver_version;  // "550.90.05"; empty: not known
  std::string driver_branch;   // "r550_00"

  bool operator==(const VgpuHost&) const = default;
};

struct GpuFeatures {
  std::optional<bool> mig_capable;
  std::optional<std::uint32_t> pci_class;  // 0x030000 VGA, 0x030200 3D
  std::optional<FabricClique> fabric;      // empty: in none, or not known
  std::optional<bool> is_vgpu;
  VgpuHost vgpu_host;  // of a virtual GPU

  bool operator==(const GpuFeatures&) const = default;
};

}  // namespace tranche::core
