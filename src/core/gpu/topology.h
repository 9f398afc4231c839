// SPDX-License-Identifier: Apache-2.0
//
// The links between the GPUs of a node.
#pragma once

#include <cstddef>
#include <vector>

#include "core/gpu/gpu.h"

namespace tranche::core {

// The PCI path between two GPUs, nearest first. Unknown in a virtual machine, or with a driver
// that does not report it.
enum class PcieDistance {
  kSameBoard,
  kOneSwitch,
  kSeveralSwitches,
  kHostBridge,
  kSameNode,
  kAcrossSystem,
  kUnknown
};

struct GpuLink {
  PcieDistance pcie = PcieDistance::kUnknown;
  unsigned nvlinks = 0;  // direct, or through NVSwitches

  bool operator==(const GpuLink&) const = default;
};

// A symmetric matrix over GPUs.
class Topology {
 public:
  Topology() = default;
  explicit Topology(std::vector<GpuUuid> gpus);

  const std::vector<GpuUuid>& gpus() const { return gpus_; }
  void set(std::size_t a, std::size_t b, GpuLink link);
  const GpuLink& between(std::size_t a, std::size_t b) const;

  // kNowhere for a GPU that the topology does not know.
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);
  std::size_t position(const GpuUuid& gpu) const;

  bool operator==(const Topology&) const = default;

 private:
  std::vector<GpuUuid> gpus_;
  std::vector<GpuLink> links_;  // gpus × gpus
};

}  // namespace tranche::core
