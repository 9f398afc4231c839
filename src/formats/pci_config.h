// SPDX-License-Identifier: Apache-2.0
//
// The part of a GPU's PCI configuration space that tells a virtual GPU from a card: the vendor's
// capability, in which NVIDIA's hypervisor writes "VF" and its own version. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "core/gpu/gpu_features.h"

namespace tranche::formats {

struct VgpuCapability {
  bool is_vgpu = false;
  VgpuHost host;  // empty: not a virtual GPU, or the record is missing

  bool operator==(const VgpuCapability&) const = default;
};

// `config` is the content of /sys/bus/pci/devices/<address>/config. Empty: it cannot be known,
// because it is cut (only root may read all of it), not NVIDIA's, or its list of capabilities
// is broken.
std::optional<VgpuCapability> parse_vgpu_capability(std::string_view config);

}  // namespace tranche::formats
