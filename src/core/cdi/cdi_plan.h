// SPDX-License-Identifier: Apache-2.0
//
// From what the node has to the CDI specifications it should have: one device
// for every GPU and MIG device, and the parts that containers with any of them
// share. Pure: equal input gives equal output, sorted.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "gpu/inventory.h"
#include "grant/options.h"
#include "handoff/cdi_options.h"
#include "handoff/cdi_spec.h"
#include "handoff/driver_files.h"

namespace tranche {

struct CdiPlan {
  std::vector<CdiSpec> specs;  // sorted by class; none is empty
  // Classes of which nothing is known now, because the driver does not answer.
  // What was written for them stays: pods that already have a device may have
  // to be started again before the driver is back.
  std::set<std::string> kept;
  // What one could have expected and is not there, "gds" or "gpu=GPU-8f1c…",
  // with the reason.
  std::map<std::string, std::string> left_out;

  bool operator==(const CdiPlan&) const = default;
};

// `grant` says how devices are named and which classes besides gpu are wanted.
CdiPlan cdi_plan(const Inventory& inventory, const DriverFiles& files, const CdiOptions& options,
                 const GrantOptions& grant);

}  // namespace tranche
