// SPDX-License-Identifier: Apache-2.0
//
// Computes the CDI specifications that the node should have: one device for every GPU and
// MIG device, and the parts that containers with any of them share. Pure: equal input gives
// equal output, sorted.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/cdi/cdi_spec.h"
#include "core/cdi/driver_files.h"
#include "core/gpu/inventory.h"
#include "core/settings/cdi_options.h"
#include "core/settings/grant_options.h"

namespace tranche::core {

struct CdiPlan {
  std::vector<CdiSpec> specs;  // sorted by class; none is empty
  // Classes that cannot be computed now, because the driver does not answer. What was
  // written for them stays: pods that already have a device may have to be started again
  // before the driver is back.
  std::set<std::string> kept;
  // Expected devices that are missing, "gds" or "gpu=GPU-8f1c…", with the reason.
  std::map<std::string, std::string> left_out;

  bool operator==(const CdiPlan&) const = default;
};

// `grant` says how devices are named and which classes besides gpu are wanted.
CdiPlan cdi_plan(const Inventory& inventory, const DriverFiles& files, const CdiOptions& options,
                 const GrantOptions& grant);

}  // namespace tranche::core
