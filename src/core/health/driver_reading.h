// SPDX-License-Identifier: Apache-2.0
//
// GpuSource is where GPUs are read from: the driver's library, or the device
// nodes alone. It translates and decides nothing: what a reading means for a
// GPU's health is the inventory's to say.
//
// Not thread-safe: one thread uses it. No call of it blocks for ever; what the
// driver does not answer is reported as hung.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/inventory.h"

namespace tranche {

// What tells whether a GPU is well, and whether it has been reset since last
// time. Empty: the driver does not say.
struct Vitals {
  std::optional<unsigned> recovery_action;       // the driver's number; 0: none needed
  std::optional<std::uint64_t> uncorrected_ecc;  // since the last reset
  std::optional<std::uint64_t> energy_mj;        // since the driver was loaded
  std::optional<std::uint64_t> pcie_replays;     // since the last reset
  std::optional<bool> repair_pending;            // row remap or page retirement awaits a reset
  std::optional<bool> remap_failed;              // a row could not be remapped, ever
  std::optional<bool> fabric_ready;              // empty also where there is no fabric
  std::optional<unsigned> links_down;            // NVLinks that are there and not up
  std::optional<bool> inforom_valid;

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
  // Everything known of it; health is not filled in. Empty where it would not
  // say who it is.
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
  // Counts openings of the driver: evidence from a fresh session weighs more.
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

// What to read beyond the usual, because an open fault waits for it. The usual
// takes a driver half a millisecond a GPU; each of these takes many times that.
struct ReadWish {
  bool energy = false;
  bool links = false;
  bool inforom = false;
};

class GpuSource {
 public:
  virtual ~GpuSource() = default;

  // Opens the driver afresh. This attaches to every GPU at once: there is no
  // session with some of them only.
  virtual Status open() = 0;
  // Lets go of the driver: nothing of it is held open afterwards.
  virtual void close() = 0;
  // An error is the driver's, not one GPU's.
  virtual Result<DriverReading> read(const ReadWish& wish) = 0;
  // Waits for events, at most that long. An error means that none are to be
  // had until the driver is read again; kNotFound, that there never are any.
  virtual Result<std::vector<DriverEvent>> wait(std::chrono::milliseconds at_most) = 0;
};

}  // namespace tranche
