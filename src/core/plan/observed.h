// SPDX-License-Identifier: Apache-2.0
//
// The agent's observations of its node, as one value. Each edge fills in its part and decides
// nothing; plan.h decides.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/cdi/cdi_state.h"
#include "core/cdi/driver_files.h"
#include "core/features/machine_facts.h"
#include "core/gpu/inventory.h"
#include "core/ledger/ledger.h"
#include "core/mps/mps_report.h"
#include "core/nested/host_grant.h"
#include "core/nested/nested_grant.h"
#include "core/sharing/memory_unit.h"

namespace tranche::core {

// If containers get their devices through CDI.
struct ObservedCdi {
  DriverFiles files;  // and the toolkit
  CdiState state;     // of the specifications, as they were last written

  bool operator==(const ObservedCdi&) const = default;
};

struct ObservedMps {
  std::string no_programs;  // why we cannot start a daemon; empty: we can
  MpsReport report;

  bool operator==(const ObservedMps&) const = default;
};

// In a nested cluster: the host's grant.
struct ObservedGrant {
  std::optional<HostGrant> grant;  // the last one read; empty: none yet
  std::string problem;             // why it cannot be read now

  bool operator==(const ObservedGrant&) const = default;
};

struct Observed {
  Inventory inventory;                 // everything the driver reports
  std::optional<ObservedGrant> guest;  // only in a nested cluster
  // Existing control nodes such as /dev/nvidiactl, and existing IMEX channels of those requested.
  std::vector<std::string> control_nodes;
  std::vector<unsigned> imex_channels;
  std::optional<ObservedCdi> cdi;
  ObservedMps mps;
  std::vector<NestedGrant> handed_off;   // to node pods of a nested cluster
  std::shared_ptr<const Ledger> ledger;  // allocations; null: not known
  std::string no_ledger;                 // why no ledger can be kept; empty: one can
  KeptUnits units;                       // chosen earlier by `unit: auto`
  // A hook in the specifications has the driver limit containers' memory, now or earlier. It
  // stays, because a container with a limit may be restarted.
  bool limits_memory = false;
  MachineFacts machine;  // only if nodes are labelled
};

}  // namespace tranche::core
