// SPDX-License-Identifier: Apache-2.0
//
// The node's offer at one moment: every resource with its devices. A device that is offered many
// times is here once, with a count, so a list of 50,000 shares has eight entries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/gpu/gpu.h"
#include "core/sharing/resource_name.h"
#include "core/sharing/terms.h"

namespace tranche::core {

// A GPU or a MIG device, as it is offered.
struct OfferedDevice {
  std::string uuid;
  GpuUuid gpu;             // the physical GPU: itself, or the one it is a slice of
  unsigned gpu_index = 0;  // the GPU's number
  std::optional<unsigned> mig_index;
  std::string model;
  std::optional<unsigned> minor;  // of the GPU's device node
  std::vector<unsigned> caps;     // minors of its /dev/nvidia-caps nodes
  std::optional<unsigned> numa_node;
  std::uint64_t memory_bytes = 0;  // of the GPU or the slice; 0: not known
  // Empty: offered once, under its uuid. Else as many shares, numbered from 0:
  // replicas, or units of memory.
  std::optional<unsigned> replicas;
  // Distinguishes this resource's ids from those of other resources on the same device; empty:
  // NVIDIA's ids.
  std::string tag;
  bool partial = false;  // memory_bytes is the part that the host granted
  // The memory that one share covers; 0: not counted.
  std::uint64_t share_bytes = 0;
  Health health;
  // The driver's index of the GPU; empty: the same as its number.
  std::optional<unsigned> driver_index;

  unsigned shares() const { return replicas.value_or(1); }
  bool is_mig() const { return mig_index.has_value(); }
  // "3" or "3:1", by the GPU's number: for the configuration and for people.
  std::string index() const;
  // The same by the driver's index: for NVIDIA's runtime and CDI names.
  std::string runtime_index() const;
  bool operator==(const OfferedDevice&) const = default;
};

// The device and share that an id names.
struct LocatedShare {
  const OfferedDevice* device = nullptr;
  unsigned replica = 0;
};

// One resource.
struct Offer {
  ResourceName name;
  std::vector<OfferedDevice> devices;  // by GPU index, then MIG index
  Terms terms;

  std::size_t shares() const;
  bool is_replicated() const;
  // The device of a share id; null if this resource has no such share.
  const OfferedDevice* find(std::string_view share_id) const { return locate(share_id).device; }
  LocatedShare locate(std::string_view share_id) const;
  bool operator==(const Offer&) const = default;
};

// A device of the node that is not offered.
struct Withheld {
  std::string uuid;
  std::string index;
  std::string reason;

  bool operator==(const Withheld&) const = default;
};

struct Catalog {
  std::vector<Offer> offers;  // sorted by name; none is empty
  std::vector<Withheld> withheld;
  // Every MIG device of the node, offered or not, to the GPU it is a part of: uuids.
  std::map<std::string, std::string> gpu_of_slice;
  // GPUs were found by their device nodes, which do not show MIG.
  bool slices_are_unknown = false;
  // The names of GPUs' device nodes, "nvidia3", to uuids: Google's and Deepomatic's plugins
  // make their ids from them.
  std::map<std::string, std::string> gpu_of_node;
  // Notes where policy and node do not match: a resource to replicate or a listed device
  // that does not exist.
  std::vector<std::string> notes;

  bool operator==(const Catalog&) const = default;
};

// The maximum size of the resource's device list message: every device unhealthy, which takes two
// bytes more than healthy.
std::uint64_t list_bytes(const Offer& offer);

// The kubelet's limit for one message; a resource with a larger list would vanish.
inline constexpr std::uint64_t kKubeletListLimit = 4ULL << 20;

// Every resource with a device list above the kubelet's limit, with the figures and what would
// fit; empty if all fit.
std::string oversized(const Catalog& catalog);
std::string oversized(const Offer& offer);

}  // namespace tranche::core
