// SPDX-License-Identifier: Apache-2.0
//
// What is known of the node's GPUs over time: every GPU seen and not gone, its
// open faults, and what has been seen since towards clearing them. Readings and
// events are folded in one by one; the inventory that others see is a view of
// it. Pure: no driver, no clock, no log.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gpu/inventory.h"
#include "inventory/fault.h"
#include "inventory/gpu_source.h"
#include "inventory/xid_policy.h"

namespace tranche {

// What is seen beside the driver at the moment of a fold.
struct Surroundings {
  std::string boot_id;   // empty: not known
  std::int64_t now = 0;  // seconds, of any clock that outlives a restart
  // Whether the kernel still has the PCI device; empty: not known.
  std::function<std::optional<bool>(const PciAddress&)> has_pci_device = [](const PciAddress&) {
    return std::nullopt;
  };
};

struct NodeState {
  // Health and numbers of GPUs are filled in by present(); `index` of a GPU is what
  // the driver counted when it last listed it.
  Inventory inventory;
  std::map<GpuUuid, Vitals> vitals;
  std::vector<Fault> faults;
  // When each GPU recovered lately; a GPU that comes and goes has to pass more.
  std::map<GpuUuid, std::vector<std::int64_t>> recoveries;
  // The driver was let go of on request, and whom that makes unhealthy, why.
  bool driver_released = false;
  std::map<GpuUuid, std::string> released;
  std::uint64_t session = 0;
  // In the last reading a GPU failed that has never said who it is.
  bool has_stranger = false;
  std::set<GpuUuid> named;                 // GPUs that said who they are in the last reading
  DriverKind seen_by = DriverKind::kNone;  // what the last reading came from
  // The kernel module was seen gone: what comes back has been reset.
  bool driver_was_unloaded = false;

  bool operator==(const NodeState&) const = default;
};

NodeState with_reading(NodeState state, const DriverReading& reading, const Surroundings& around);
NodeState with_event(NodeState state, const DriverEvent& event, const XidPolicy& policy,
                     const Surroundings& around);
// The driver could not be reached; every GPU is unhealthy until it is.
NodeState with_driver_trouble(NodeState state, std::string trouble, bool unloaded);
// Lets go of the driver for the sake of these GPUs, or of all where none is
// named. The others stay as they are known while the kernel's log still tells
// of their errors, else nobody knows how they are.
NodeState with_release(NodeState state, const std::vector<GpuUuid>& gpus, bool kernel_log_tells);
NodeState with_resume(NodeState state);
// The next reading binds what it sees in these slots by the driver's index.
NodeState with_forgotten_numbers(NodeState state, const std::set<unsigned>& numbers);

// The inventory with every GPU's number, and the health of every GPU and MIG
// device, filled in.
Inventory present(const NodeState& state);

// What the next reading should look at, for the sake of open faults.
ReadWish wish_for(const NodeState& state);

// Whether a fresh session with the driver could clear something: one that was
// there before a GPU was lost never sees it come back.
bool wants_fresh_session(const NodeState& state);

}  // namespace tranche
