// SPDX-License-Identifier: Apache-2.0
//
// What the agent sees of its node, as one value. Each edge fills in its part and decides
// nothing; plan.h says what follows from it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/cdi/cdi_state.h"
#include "core/cdi/driver_files.h"
#include "core/gpu/inventory.h"
#include "core/ledger/ledger.h"
#include "core/mps/mps_report.h"
#include "core/nested/host_grant.h"
#include "core/nested/nested_grant.h"
#include "core/sharing/memory_unit.h"

namespace tranche::core {

// Where containers get their devices through CDI.
struct ObservedCdi {
  DriverFiles files;  // and the toolkit
  CdiState state;     // of the specifications, as they were last written

  bool operator==(const ObservedCdi&) const = default;
};

struct ObservedMps {
  std::string no_programs;  // why no daemon of ours can be started; empty: one can
  MpsReport report;

  bool operator==(const ObservedMps&) const = default;
};

// In a nested cluster: what the host has granted.
struct ObservedGrant {
  std::optional<HostGrant> grant;  // the last that could be read; empty: none yet
  std::string problem;             // why it cannot be read now

  bool operator==(const ObservedGrant&) const = default;
};

struct Observed {
  Inventory inventory;                 // all that the driver has
  std::optional<ObservedGrant> guest;  // only in a nested cluster
  // /dev/nvidiactl and its like, and the IMEX channels that were asked for: those that exist.
  std::vector<std::string> control_nodes;
  std::vector<unsigned> imex_channels;
  std::optional<ObservedCdi> cdi;
  ObservedMps mps;
  std::vector<NestedGrant> handed_off;   // to pods that are themselves nodes
  std::shared_ptr<const Ledger> ledger;  // what containers hold; null: it is not known
  std::string no_ledger;                 // why none can be kept here; empty: one can
  KeptUnits units;                       // that `unit: auto` has chosen before
  // The driver limits, or has limited, containers' memory by a hook in the specifications. A
  // container that has a limit may have to be started again, so the hook stays.
  bool limits_memory = false;
};

}  // namespace tranche::core
