// SPDX-License-Identifier: Apache-2.0
//
// Looks at the node for the plan: each edge's part, put together. Reads alone.
//
// Not thread-safe: belongs to the main thread.
#pragma once

#include <cstdint>
#include <optional>

#include "core/plan/observed.h"
#include "core/settings/settings.h"
#include "node/cdi/toolkit_reader.h"
#include "node/features/machine_reader.h"
#include "node/holders/node_ledger.h"
#include "node/mps/mps_daemon_set.h"
#include "node/nested/handed_off.h"
#include "node/nested/host_grant_reader.h"
#include "os/latest.h"
#include "programs/device_plugin/unit_memory.h"

namespace tranche::programs {

class Observer {
 public:
  struct Sources {
    const Latest<Inventory>& inventory;
    const std::optional<HostGrantReader>& host_grant;  // only in a nested cluster
    const NodeLedger& ledger;
    const MpsDaemonSet& mps;
    const HandedOff& handed_off;
    const UnitMemory& units;
  };
  // `started`: the agent's start, in seconds since 1970.
  Observer(Sources sources, std::int64_t started) : sources_(sources), machine_(started) {}

  // What the agent would see with these settings. Whoever plans knows what it wrote:
  // Observed::cdi's state and limits_memory are left empty.
  Observed look(const Settings& settings);

 private:
  const Sources sources_;
  ToolkitReader toolkit_;
  MachineReader machine_;
};

}  // namespace tranche::programs
