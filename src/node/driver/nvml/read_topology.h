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

// Reads the PCIe distance and the NVLinks, direct or through switches, between GPUs. What the
// driver does not report stays unknown.
Topology read_topology(const Session& session, const std::vector<PlacedGpu>& gpus);

}  // namespace tranche::node::nvml
