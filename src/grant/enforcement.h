// SPDX-License-Identifier: Apache-2.0
//
// The enforcement ladder: what holds a container to its share of memory. Which
// rung a resource stands on is settled before it is offered, from what its
// policy demands and what the node has; what the container gets for it is
// added to its grant. Pure.
//
// The rungs and what each is worth: docs/enforcement.md.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/inventory.h"
#include "grant/grant.h"
#include "grant/request.h"
#include "sharing/catalog.h"
#include "sharing/terms.h"

namespace tranche {

// What the node has to hold containers with. Each sentence says why a means is
// missing; empty: it is there.
struct Enforcers {
  std::string driver_version;  // "580.159.03"; empty: not known
  bool driver_limits_memory = false;
  bool by_cdi = false;  // containers get their devices through CDI
  // Containers do not pass the hook that has the driver set the limit.
  std::string no_driver_hook;
  // Daemons of others are configured (a pipe, or NVIDIA's layout): using them
  // starts nothing that nobody asked for.
  bool mps_of_others = false;
  std::string no_mps;        // neither others' daemons nor ours
  std::string no_exclusive;  // no GPU can be kept for its daemon alone

  bool operator==(const Enforcers&) const = default;
};

// As far as driver and runtime go; whether there is MPS is for others to add.
// `disabled_hooks` are those that our CDI specifications leave out.
Enforcers enforcers(const Inventory& inventory, const GrantOptions& options,
                    const std::vector<std::string>& disabled_hooks);

// The rung that the resource stands on. What is demanded is taken exactly, or
// is an error that says why this node cannot hold it: then the resource is not
// to be offered here. Where nothing is demanded, the best that is there.
Result<Rung> settle(const Offer& offer, const Enforcers& node);

// Makes the grant hold what the offer's rung says, and tells the container of
// it. NVIDIA's own resources get nothing beyond what NVIDIA's plugin gives.
Status add_enforcement(const GrantRequest& request, ContainerGrant& grant);

}  // namespace tranche
