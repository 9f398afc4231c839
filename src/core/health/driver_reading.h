// SPDX-License-Identifier: Apache-2.0
//
// What the driver reports about its GPUs in one poll. Values only; NodeState decides what
// they mean for a GPU's health.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/gpu/inventory.h"

namespace tranche::core {

// A GPU's NVLinks by their state. A link that the driver does not support, because nothing
// was ever connected, is in neither set.
struct NvLinks {
  std::set<unsigned> up;
  std::set<unsigned> down;

  bool operator==(const NvLinks&) const = default;
};

// Values that show whether a GPU is healthy, and whether it was reset since the last poll.
// Empty: the driver does not report it.
struct Vitals {
  std::optional<unsigned> recovery_action;       // the driver's number; 0: none needed
  std::optional<std::uint64_t> uncorrected_ecc;  // since the last reset
  std::optional<std::uint64_t> energy_mj;        // since the driver was loaded
  std::optional<std::uint64_t> pcie_replays;     // since the last reset
  std::optional<bool> repair_pending;            // row remap or page retirement awaits a reset
  std::optional<bool> units_pending;             // a channel's or TPC's retirement awaits one
  std::optional<bool> remap_failed;              // a row could not be remapped, ever
  std::optional<bool> fabric_ready;              // empty also where there is no fabric
  std::optional<NvLinks> links;
  std::optional<bool> inforom_valid;
  // The driver keeps the GPU and its counters while no process has it open.
  std::optional<bool> persistence;

  bool operator==(const Vitals&) const = default;
};

enum class FailureKind {
  kLost,        // the driver says that the GPU is gone
  kNeedsReset,  // the driver says that it must be reset
  kHung,        // a call has not come back
  kOther
};

struct GpuFailure {
  FailureKind kind = FailureKind::kOther;
  std::string what;  // "nvmlDeviceGetUUID: GPU is lost"

  bool operator==(const GpuFailure&) const = default;
};

// One GPU that the driver enumerates.
struct GpuReading {
  unsigned index = 0;
  // Everything known of it except its health. Empty: it did not report its identity.
  std::optional<Gpu> gpu;
  std::optional<GpuFailure> failure;
  Vitals vitals;
  // Why its events cannot be watched; empty: they are, or the GPU has none.
  std::string unwatched;

  bool operator==(const GpuReading&) const = default;
};

struct DriverReading {
  DriverKind kind = DriverKind::kNone;
  std::string driver_version;
  std::string cuda_version;
  bool limits_memory = false;  // of a control group (R615)
  // Why it is not known whether it does; then limits_memory is what was last known.
  std::string limits_unknown;
  // Counts openings of the driver, because evidence from a new session weighs more.
  std::uint64_t session = 0;
  std::vector<GpuReading> gpus;
  Topology topology;

  bool operator==(const DriverReading&) const = default;
};

struct DriverEvent {
  enum class Kind { kXid, kMigChanged, kLookAgain };
  Kind kind = Kind::kLookAgain;
  std::optional<GpuUuid> gpu;  // empty: the driver named one that we do not know
  unsigned xid = 0;
  std::optional<unsigned> gpu_instance;
  std::optional<unsigned> compute_instance;

  bool operator==(const DriverEvent&) const = default;
};

// Values to read in addition, because an open fault depends on them. A regular poll takes
// the driver half a millisecond per GPU; each of these takes many times that.
struct ReadRequest {
  bool energy = false;
  bool links = false;
  bool inforom = false;
  bool units = false;
};

}  // namespace tranche::core
