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
#include <string>
#include <vector>

#include "base/result.h"
#include "core/health/driver_reading.h"

namespace tranche::node {

class GpuSource {
 public:
  virtual ~GpuSource() = default;

  // Opens the driver afresh. This attaches to every GPU at once: there is no
  // session with some of them only.
  virtual Status open() = 0;
  // Nothing of the driver is held open afterwards, except by calls that do not return.
  virtual void close() = 0;
  // Why something of the driver is held open after close(): a call that has not
  // returned. Empty: nothing is.
  virtual std::string still_open() const { return {}; }
  // An error is the driver's, not one GPU's.
  virtual Result<DriverReading> read(const ReadRequest& request) = 0;
  // Waits for events, at most that long. An error means that none are to be
  // had until the driver is read again; kNotFound, that there never are any.
  virtual Result<std::vector<DriverEvent>> wait(std::chrono::milliseconds at_most) = 0;
  // A wait that is under way ends at once, and so does every later one, because the
  // process ends. From any thread.
  virtual void stop_waiting() {}
};

}  // namespace tranche::node
