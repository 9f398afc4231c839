// SPDX-License-Identifier: Apache-2.0
//
// Reads GPUs from the driver's library if there is one, else from the device nodes. Switches to the
// library as soon as it appears, for good.
#pragma once

#include "node/driver/gpu_source.h"

namespace tranche::node {

class FallbackSource final : public GpuSource {
 public:
  FallbackSource(GpuSource& preferred, GpuSource& fallback)
      : preferred_(preferred), fallback_(fallback) {}

  // The error is that of the preferred source.
  Status open() override;
  void close() override;
  std::string still_open() const override { return preferred_.still_open(); }
  Result<DriverReading> read(const ReadRequest& request) override;
  Result<std::vector<DriverEvent>> wait(std::chrono::milliseconds at_most) override;
  void stop_waiting() override;

 private:
  Status open_preferred();
  bool may_fall_back(const Error& why) const;

  GpuSource& preferred_;
  GpuSource& fallback_;
  GpuSource* open_ = nullptr;
  bool was_preferred_ = false;  // at any time so far
};

}  // namespace tranche::node
