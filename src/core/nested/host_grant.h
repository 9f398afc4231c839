// SPDX-License-Identifier: Apache-2.0
//
// A guest's view: what the host has granted to the node that we run on, and what
// that leaves of the driver's GPUs. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpu/inventory.h"
#include "nested/gpu_env.h"
#include "nested/nested_grant.h"

namespace tranche {

struct HostGrant {
  std::string source;               // the file or folder it was read from
  std::vector<NestedGrant> grants;  // from JSON, one for each resource
  std::optional<GpuEnv> env;        // from /gpu.env, where there is no JSON

  bool operator==(const HostGrant&) const = default;
};

struct GuestInventory {
  Inventory inventory;             // the granted devices alone, with what was granted of them
  std::vector<std::string> notes;  // what was granted and is not here, a sentence each
};

// Only what was granted, with the host's word on its health, and with no more
// memory than the host granted.
GuestInventory granted_part(const Inventory& inventory, const HostGrant& grant);

// While it is not known what was granted: nothing, as of a driver that cannot be
// read, so that nobody takes it for a node without GPUs.
GuestInventory unknown_part(const Inventory& inventory, const std::string& problem);

// The devices by name, for the log.
std::string told(const HostGrant& grant);

}  // namespace tranche
