// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/gpu/topology.h"
#include "node/driver/nvml/session.h"

namespace tranche::node::nvml {

struct PlacedGpu {
  GpuUuid uuid;
  abi::Device handle = nullptr;
  std::optional<PciAddress> pci;
};

// How near the GPUs are to each other: what lies between them on the PCI side,
// and their NVLinks, direct or through switches. What the driver does not tell
// stays unknown.
Topology read_topology(const Session& session, const std::vector<PlacedGpu>& gpus);

}  // namespace tranche::node::nvml
