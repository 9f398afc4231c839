// SPDX-License-Identifier: Apache-2.0
//
// The guest's side: what the host has granted to this node, and the driver's GPUs reduced
// to it. Pure.
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

// Only what was granted, with the health that the host reports, and with no more memory
// than the host granted.
GuestInventory granted_part(const Inventory& inventory, const HostGrant& grant);

// While the grant is not known: nothing, as with a driver that cannot be read, so that it
// is not mistaken for a node without GPUs.
GuestInventory unknown_part(const Inventory& inventory, const std::string& problem);

// The devices by name, for the log.
std::string told(const HostGrant& grant);

}  // namespace tranche::core
