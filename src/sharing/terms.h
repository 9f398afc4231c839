// SPDX-License-Identifier: Apache-2.0
//
// On which terms a resource is offered: how devices are cut, which of the cuts
// a container gets, who holds it to them, and whose words it is told in. Every
// resource has its own, so one node can offer in every way at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tranche {

// How a device is cut into shares.
enum class ShareForm {
  kWhole,     // one share: the device
  kReplicas,  // so many shares that say nothing of size
  kMemory,    // one share for each unit of the device's memory
};

// Which shares a container gets of those that are free.
enum class SharePlacement {
  kDistributed,  // NVIDIA's: each from the GPU with the fewest taken
  kPacked,       // NVIDIA's: each from the GPU with the most
  kSpread,       // on as many different GPUs as shares, where there are as many
  kPack,         // on as few GPUs as will do, those that are fullest already
};

// How many of a memory resource's free units the scheduler is shown. It sees
// one number for the node, and a container's units come from one GPU.
enum class ShownSize {
  kSum,           // all; a pod can fit the sum and no GPU, and is refused then
  kLargestBlock,  // no more than the GPU with the most has free
};

// Whose variables and mounts a container gets.
enum class Dialect { kNvidia, kDeepomatic, kGcp, kGpushare, kNestedHost };

// What a pod that is itself a node sees of the host's GPUs, beside being told
// which of them are its own.
enum class Exposure {
  kEnvvar,   // NVIDIA_VISIBLE_DEVICES lists all; all else is of the granted ones
  kAll,      // device nodes, mounts and CDI names are of all as well
  kGranted,  // nothing of any other
};

// What holds a container to its share of memory; the weakest first.
enum class Rung {
  kNone,          // its own good will
  kMps,           // the MPS daemon, for as long as it does not walk around it
  kMpsExclusive,  // the same, on a GPU that lets nobody in but the daemon
  kDriver,        // the driver, by cgroup (r615 and newer)
};

struct Terms {
  ShareForm form = ShareForm::kWhole;
  SharePlacement placement = SharePlacement::kDistributed;
  // A container whose shares cannot all be on different real GPUs is refused.
  bool distinct_gpus = false;
  // All of a container's shares come from one device.
  bool one_device = false;
  // A container may have one share at most.
  bool one_share_only = false;
  ShownSize shown = ShownSize::kSum;
  std::uint64_t unit_bytes = 0;  // of a memory resource
  Dialect dialect = Dialect::kNvidia;
  Exposure exposure = Exposure::kEnvvar;  // of the dialect kNestedHost
  // What must hold a container; where the node cannot, the resource is not
  // offered. Empty: whatever the node has, and nothing is refused for it.
  std::optional<Rung> demanded;
  // What does, once that is settled.
  Rung rung = Rung::kNone;

  bool operator==(const Terms&) const = default;
};

// As they are written in a configuration.
std::string_view word(ShareForm form);
std::string_view word(SharePlacement placement);
std::string_view word(ShownSize shown);
std::string_view word(Dialect dialect);
std::string_view word(Exposure exposure);
std::string_view word(Rung rung);

}  // namespace tranche
