// SPDX-License-Identifier: Apache-2.0
//
// The guest's side: the host's grant to this node, and the driver's GPUs reduced to it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/gpu/inventory.h"
#include "core/nested/gpu_env_list.h"
#include "core/nested/nested_grant.h"

namespace tranche::core {

struct HostGrant {
  std::string source;               // the file or folder it was read from
  std::vector<NestedGrant> grants;  // from JSON, one for each resource
  std::optional<GpuEnv> env;        // from /gpu.env, where there is no JSON

  bool operator==(const HostGrant&) const = default;
};

struct GuestInventory {
  Inventory inventory;             // the granted devices alone, with what was granted of them
  std::vector<std::string> notes;  // what was granted and is missing here, a sentence each
};

// Only the granted devices, with the health that the host reports and no more memory than it
// granted.
GuestInventory granted_part(const Inventory& inventory, const HostGrant& grant);

// While the grant is not known: no GPUs and a driver trouble, so that the node is not mistaken
// for one without GPUs.
GuestInventory unknown_part(const Inventory& inventory, const std::string& problem);

// The devices by name, for the log.
std::string to_string(const HostGrant& grant);

}  // namespace tranche::core
