// SPDX-License-Identifier: Apache-2.0
//
// All decisions of the agent except its answers to the kubelet's calls: from observations and
// settings to the wanted state. Pure; each field of Wanted has one edge that applies it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/cdi/cdi_plan.h"
#include "core/features/node_labels.h"
#include "core/gpu/inventory.h"
#include "core/grant/node_facts.h"
#include "core/mps/mps_plan.h"
#include "core/plan/observed.h"
#include "core/plan/serving.h"
#include "core/settings/settings.h"
#include "core/sharing/catalog.h"
#include "core/sharing/memory_unit.h"

namespace tranche::core {

// By resource and uuid of the device handed off.
using NestedHealth = std::map<std::pair<std::string, std::string>, Health>;

struct Wanted {
  Inventory inventory;  // what may be offered; on a guest only what the host granted
  Catalog catalog;      // with notes for people
  NodeFacts facts;
  std::vector<Serving> servings;  // one for each resource served to the kubelet
  std::optional<CdiPlan> cdi;     // empty: CDI is not used
  // Empty: leave the daemons as they are, because of mps_hold_reason.
  std::optional<MpsPlan> mps;
  std::string mps_hold_reason;
  NestedHealth nested_health;
  KeptUnits units;             // to store for the next start
  bool limits_memory = false;  // see Observed
  // Empty: leave the node's labels as they are, because nobody asked for labels, or the driver
  // has not been read since the start.
  std::optional<NodeLabels> labels;
  // Resources with a list above the kubelet's limit, with the figures. They are in the catalog
  // but not served.
  std::string oversized;
  // Why this node cannot use these settings; empty: it can.
  std::string refusal;
};

Wanted plan(const Observed& observed, const Settings& settings);

}  // namespace tranche::core
