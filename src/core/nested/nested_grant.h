// SPDX-License-Identifier: Apache-2.0
//
// The host's grant to a node pod. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/gpu/gpu.h"
#include "core/sharing/terms.h"

namespace tranche::core {

// One GPU or MIG device, or a part of it.
struct NestedDevice {
  std::string uuid;                // "GPU-8f1c…" or "MIG-c8b1…"
  std::string gpu;                 // the physical GPU's uuid; the same for a GPU
  std::string index;               // the host's: "3" or "3:1"
  std::optional<unsigned> minor;   // of the GPU's device node
  std::string model;               // "NVIDIA H200"
  std::uint64_t memory_bytes = 0;  // of the whole device; 0: not known
  // The granted shares.
  ShareForm form = ShareForm::kWhole;
  unsigned shares = 1;
  unsigned shares_in_all = 1;
  // The memory that these shares cover; empty: it is not counted.
  std::optional<std::uint64_t> granted_bytes;
  Health health;

  bool is_mig() const { return uuid != gpu; }
  bool operator==(const NestedDevice&) const = default;
};

struct NestedGrant {
  std::string id;                // the host's own name for it
  std::string resource;          // "nvidia.com/gpu"
  std::uint64_t generation = 1;  // one more with each change
  std::string driver_version;
  std::vector<NestedDevice> devices;

  bool operator==(const NestedGrant&) const = default;
};

// The path in containers. One folder for each resource, so that a container may have several.
inline constexpr std::string_view kGrantsFolder = "/gpu-grants";
inline constexpr std::string_view kGrantFile = "grant.json";
inline constexpr std::string_view kGpuEnvFile = "/gpu.env";
// "/gpu-grants/nvidia.com_gpu"
std::string grant_folder(std::string_view resource);

// The line of /gpu.env: uuids, separated by commas. The format cannot express health, so
// unhealthy devices are left out.
std::string gpu_env_line(const NestedGrant& grant);

// The grant with this health and the next generation; nothing if it is unchanged.
std::optional<NestedGrant> with_health(const NestedGrant& grant, const std::vector<Health>& health);

}  // namespace tranche::core
