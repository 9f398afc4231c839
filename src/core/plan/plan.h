// SPDX-License-Identifier: Apache-2.0
//
// Everything that the agent decides, but for its answers to the kubelet's calls: from what
// is observed and configured to what is wanted. Pure; each field of Wanted has one edge that
// applies it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/cdi/cdi_plan.h"
#include "core/gpu/inventory.h"
#include "core/grant/node_facts.h"
#include "core/mps/mps_plan.h"
#include "core/plan/observed.h"
#include "core/plan/serving.h"
#include "core/settings/settings.h"
#include "core/sharing/catalog.h"
#include "core/sharing/memory_unit.h"

namespace tranche::core {

// Of devices that were handed off, by resource and uuid.
using NestedHealth = std::map<std::pair<std::string, std::string>, Health>;

struct Wanted {
  Inventory inventory;  // what may be offered: as a guest, what the host granted
  Catalog catalog;      // with notes for people
  NodeFacts facts;
  std::vector<Serving> servings;  // what the kubelet is served, a resource each
  std::optional<CdiPlan> cdi;     // empty: CDI is not used
  // Empty: leave the daemons as they are, because of mps_hold_reason.
  std::optional<MpsPlan> mps;
  std::string mps_hold_reason;
  NestedHealth nested_health;
  KeptUnits units;             // to be kept over a restart
  bool limits_memory = false;  // see Observed
  // Resources whose list the kubelet would not take, with the figures. They are in the
  // catalog and are not served.
  std::string oversized;
  // Why these settings cannot be in force on this node; empty: they can.
  std::string refusal;
};

Wanted plan(const Observed& observed, const Settings& settings);

}  // namespace tranche::core
