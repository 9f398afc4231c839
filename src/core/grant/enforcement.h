// SPDX-License-Identifier: Apache-2.0
//
// The enforcement level: what limits a container to its share of memory. The level of a
// resource is decided before it is offered, from what its policy demands and what the node
// supports. The variables and mounts for it are added to the container's grant. Pure.
//
// The levels and what each is worth: docs/enforcement.md.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "core/gpu/inventory.h"
#include "core/grant/grant.h"
#include "core/grant/request.h"
#include "core/sharing/catalog.h"
#include "core/sharing/terms.h"

namespace tranche::core {

// The enforcement that the node supports. Each sentence says why something is missing;
// empty: it is there.
struct Enforcers {
  std::string driver_version;  // "580.159.03"; empty: not known
  bool driver_limits_memory = false;
  std::string limits_unknown;  // why it is not known whether the driver can; empty: it is
  bool by_cdi = false;         // containers get their devices through CDI
  // The hook that has the driver set the limit does not run for containers.
  std::string no_driver_hook;
  // External daemons are configured (a pipe, or NVIDIA's layout), so using them starts
  // nothing.
  bool external_mps = false;
  std::string no_mps;        // neither external daemons nor ours
  std::string no_exclusive;  // no GPU can be reserved for its daemon

  bool operator==(const Enforcers&) const = default;
};

// For driver and runtime only; the caller adds MPS. `disabled_hooks` are those that our CDI
// specifications leave out.
Enforcers enforcers(const Inventory& inventory, const GrantOptions& options,
                    const std::vector<std::string>& disabled_hooks);

// The level of the resource. If the policy demands a level, it is exactly that one, or an
// error that says why this node does not support it; the resource must not be offered then.
// If the policy demands none, it is the best level that the node has.
Result<Enforcement> settle(const Offer& offer, const Enforcers& node);

// Where memory is counted, no level is demanded, and nothing enforces the shares: why, and
// what to do. Empty everywhere else. `enforcement` is the level in effect.
std::string unenforced_memory(const Offer& offer, Enforcement enforcement, const Enforcers& node);

// Adds to the grant what the offer's level needs, and the variables that show it to the
// container. NVIDIA's own resources get nothing beyond what NVIDIA's plugin gives.
Status add_enforcement(const GrantRequest& request, ContainerGrant& grant);

}  // namespace tranche::core
