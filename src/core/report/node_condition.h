// SPDX-License-Identifier: Apache-2.0
//
// The Node's condition for GPUs, which controllers that repair nodes act on. Pure.
#pragma once

#include <string>

#include "core/gpu/inventory.h"

namespace tranche::core {

struct NodeCondition {
  std::string status;  // "True", "False", "Unknown"
  std::string reason;
  std::string message;

  bool operator==(const NodeCondition&) const = default;
};

// False only for GPUs that are known to be unhealthy. While the driver cannot be read, or was
// released by a person, the status is Unknown, because a repair would be wrong.
NodeCondition gpus_condition(const Inventory& inventory);

}  // namespace tranche::core
