// SPDX-License-Identifier: Apache-2.0
//
// Reads GPUs from their device nodes, for nodes without the management library (as the GCP plugin
// and its Deepomatic fork do). Adds what the kernel's /proc has. A GPU that is not there gets the
// node's name as id: "nvidia0".
#pragma once

#include "node/driver/gpu_source.h"
#include "node/driver/kernel_files.h"

namespace tranche::node {

class DeviceNodeSource final : public GpuSource {
 public:
  explicit DeviceNodeSource(KernelFiles kernel) : kernel_(std::move(kernel)) {}

  Status open() override;
  void close() override {}
  Result<DriverReading> read(const ReadRequest& request) override;
  Result<std::vector<DriverEvent>> wait(std::chrono::milliseconds at_most) override;

 private:
  const KernelFiles kernel_;
  std::uint64_t session_ = 0;
};

}  // namespace tranche::node
