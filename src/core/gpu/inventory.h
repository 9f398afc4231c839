// SPDX-License-Identifier: Apache-2.0
//
// All GPUs of the driver at one moment. A GPU that stopped answering stays in it as
// unhealthy, because the kubelet must report it to its pods.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/words.h"
#include "core/gpu/gpu.h"
#include "core/gpu/gpu_numbers.h"
#include "core/gpu/topology.h"

namespace tranche::core {

// The source of the inventory.
enum class DriverKind {
  kNone,         // not reached yet, or lost
  kNvml,         // the driver's management library
  kDeviceNodes,  // no library: GPUs with a device node
};

inline constexpr Word<DriverKind> kDriverKinds[] = {{"none", DriverKind::kNone},
                                                    {"nvml", DriverKind::kNvml},
                                                    {"device-nodes", DriverKind::kDeviceNodes}};
constexpr std::string_view to_string(DriverKind kind) { return text_of(kDriverKinds, kind); }

// The remedy for one trouble of a GPU or MIG device.
struct Remedy {
  std::string device;   // uuid
  std::string trouble;  // as in the device's health
  std::string what;     // reads well after "cleared by: "

  bool operator==(const Remedy&) const = default;
};

struct Inventory {
  DriverKind driver = DriverKind::kNone;
  // Why the driver cannot be read; empty: it can. If it cannot, every GPU here is unhealthy
  // and has the values of the last reading.
  std::string driver_trouble;
  std::string driver_version;  // "580.105.08"; empty when not known
  std::string cuda_version;    // "13.0"
  // The driver can limit the GPU memory of a control group (R615).
  bool limits_memory = false;
  // Why it is not known whether it can; then limits_memory is what was last known.
  std::string limits_unknown;
  std::vector<Gpu> gpus;  // sorted by index
  GpuNumbers numbers;     // of every slot in which a GPU was seen, also of empty ones
  Topology topology;
  std::vector<Remedy> remedies;
  // When the driver was closed by `release`, in seconds since 1970; empty: it was not.
  std::optional<std::int64_t> released_at;
  std::vector<GpuUuid> released;  // the GPUs it was closed for
  // While it is released: why it is not closed yet. Empty: it is.
  std::string still_open;

  bool operator==(const Inventory&) const = default;
};

// The GPU with this uuid, or null.
const Gpu* find_gpu(const Inventory& inventory, const GpuUuid& uuid);

}  // namespace tranche::core
