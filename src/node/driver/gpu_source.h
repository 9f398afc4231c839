// SPDX-License-Identifier: Apache-2.0
//
// A source of GPUs: the driver's library or the device nodes. It only translates; core/health
// decides what a reading means for a GPU's health.
//
// Not thread-safe: one thread uses it. No call blocks for ever; a driver call that does not return
// is reported as hung.
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

  // Opens a new driver session. It always attaches to every GPU.
  virtual Status open() = 0;
  // Closes the driver. Only calls that do not return keep it open.
  virtual void close() = 0;
  // Why the driver is still open after close(): a call has not returned. Empty: it is closed.
  virtual std::string still_open() const { return {}; }
  // An error concerns the driver, not one GPU.
  virtual Result<DriverReading> read(const ReadRequest& request) = 0;
  // Waits for events, at most that long. Error: no events until the next read; kNotFound: never
  // any.
  virtual Result<std::vector<DriverEvent>> wait(std::chrono::milliseconds at_most) = 0;
  // Ends a running wait and every later one at once, because the process ends. From any thread.
  virtual void stop_waiting() {}
};

}  // namespace tranche::node
