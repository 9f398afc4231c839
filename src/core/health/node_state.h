// SPDX-License-Identifier: Apache-2.0
//
// The state of the node's GPUs over time: every GPU that was seen and not removed, its open
// faults, and the evidence since then towards clearing them. Readings and events are folded
// in one by one; the inventory is a view of it. Pure: no driver, no clock, no log.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/gpu/inventory.h"
#include "core/health/driver_reading.h"
#include "core/health/fault.h"
#include "core/health/xid_policy.h"

namespace tranche::core {

// Facts besides the driver's at the moment of a fold.
struct Surroundings {
  std::string boot_id;   // empty: not known
  std::int64_t now = 0;  // seconds, of any clock that outlives a restart
  // Whether the kernel still has the PCI device; empty: not known.
  std::function<std::optional<bool>(const PciAddress&)> has_pci_device = [](const PciAddress&) {
    return std::nullopt;
  };
  // A number for the current binding of the kernel's driver to the PCI device; it changes with
  // each binding. Empty: not known.
  std::function<std::optional<std::uint64_t>(const PciAddress&)> driver_binding =
      [](const PciAddress&) { return std::nullopt; };
  // The driver was not watched when an event came, so it is not known whether a reset that
  // the next reading shows was before or after it.
  bool order_unknown = false;
};

struct NodeState {
  // Health and numbers of GPUs are filled in by present(); `index` of a GPU is the driver's
  // index when it last listed the GPU.
  Inventory inventory;
  std::map<GpuUuid, Vitals> vitals;
  std::map<GpuUuid, std::uint64_t> vitals_session;  // in which they were read
  std::map<GpuUuid, std::set<unsigned>> links_seen_up;
  std::vector<Fault> faults;
  // The faults that the last reading ended, and what it showed.
  std::vector<Remedy> ended;
  // When each GPU recovered recently; a GPU that flaps needs more good readings.
  std::map<GpuUuid, std::vector<std::int64_t>> recoveries;
  // The driver was closed by `release`; the GPUs that this makes unhealthy, and why.
  bool driver_released = false;
  std::map<GpuUuid, std::string> released;
  std::uint64_t session = 0;
  // In the last reading a GPU failed that has never reported its identity.
  bool has_unidentified_gpu = false;
  std::set<GpuUuid> named;                 // GPUs that reported their identity in the last reading
  DriverKind seen_by = DriverKind::kNone;  // what the last reading came from
  // The kernel module was seen unloaded: GPUs that come back have been reset.
  bool driver_was_unloaded = false;

  bool operator==(const NodeState&) const = default;
};

NodeState with_reading(NodeState state, const DriverReading& reading, const Surroundings& around);
NodeState with_event(NodeState state, const DriverEvent& event, const XidPolicy& policy,
                     const Surroundings& around);
// The driver could not be reached; every GPU is unhealthy until it is.
NodeState with_driver_trouble(NodeState state, std::string trouble, bool unloaded);
// Closes the driver because of these GPUs, or of all where none is named. The others keep
// their health while the kernel's log still shows their errors; otherwise their health is
// unknown.
NodeState with_release(NodeState state, const std::vector<GpuUuid>& gpus, bool kernel_log_tells);
NodeState with_resume(NodeState state);
// The next reading numbers the GPUs in these slots by the driver's index.
NodeState with_forgotten_numbers(NodeState state, const std::set<unsigned>& numbers);

// The inventory with every GPU's number, and the health of every GPU and MIG
// device, filled in.
Inventory present(const NodeState& state);

// What the next poll must read because of open faults.
ReadRequest next_read_request(const NodeState& state);

// Whether a new session with the driver could clear a fault: a session that was open when a GPU
// was lost never sees it come back.
bool wants_fresh_session(const NodeState& state);

}  // namespace tranche::core
