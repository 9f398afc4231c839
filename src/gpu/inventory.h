// SPDX-License-Identifier: Apache-2.0
//
// Everything the driver has at one moment. A GPU that stopped answering stays
// in it, unhealthy: the kubelet must be told of it, and its pods too.
#pragma once

#include <string>
#include <vector>

#include "gpu/gpu.h"
#include "gpu/gpu_numbers.h"
#include "gpu/topology.h"

namespace tranche {

// How we know what we know.
enum class DriverKind {
  kNone,         // not reached yet, or lost
  kNvml,         // the driver's management library answers
  kDeviceNodes,  // no library; GPUs are those with a device node
};

struct Inventory {
  DriverKind driver = DriverKind::kNone;
  // Why the driver is not serving us, when it is not. Then every GPU here is
  // unhealthy and what is said of it is the last that was known.
  std::string driver_trouble;
  std::string driver_version;  // "580.105.08"; empty when not known
  std::string cuda_version;    // "13.0"
  // The driver can hold a control group to a limit of GPU memory (R615).
  bool limits_memory = false;
  std::vector<Gpu> gpus;  // sorted by index
  GpuNumbers numbers;     // of every slot in which a GPU was seen, also of empty ones
  Topology topology;

  bool operator==(const Inventory&) const = default;
};

// The GPU with this uuid, or null.
const Gpu* find_gpu(const Inventory& inventory, const GpuUuid& uuid);

}  // namespace tranche
