// SPDX-License-Identifier: Apache-2.0
//
// GPUs as their device nodes show them, for nodes without the management
// library (the way of the GCP plugin and its Deepomatic fork). What the kernel
// says of them in /proc is used where it is readable; a GPU that it does not
// name gets the node's name as id: "nvidia0".
#pragma once

#include "node/driver/gpu_source.h"
#include "node/driver/kernel_files.h"

namespace tranche::node {

class DeviceNodeSource final : public GpuSource {
 public:
  explicit DeviceNodeSource(KernelFiles host) : host_(std::move(host)) {}

  Status open() override;
  void close() override {}
  Result<DriverReading> read(const ReadRequest& request) override;
  // Nodes have no events.
  Result<std::vector<DriverEvent>> wait(std::chrono::milliseconds at_most) override;

 private:
  const KernelFiles host_;
  std::uint64_t session_ = 0;
};

}  // namespace tranche::node
