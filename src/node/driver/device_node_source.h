// SPDX-License-Identifier: Apache-2.0
//
// GPUs as their device nodes show them, for nodes without the management
// library (the way of the GCP plugin and its Deepomatic fork). What the kernel
// says of them in /proc is used where it is readable; a GPU that it does not
// name gets the node's name as id: "nvidia0".
#pragma once

#include "host/host_files.h"
#include "inventory/gpu_source.h"

namespace tranche {

class DeviceNodeSource final : public GpuSource {
 public:
  explicit DeviceNodeSource(HostFiles host) : host_(std::move(host)) {}

  Status open() override;
  void close() override {}
  Result<DriverReading> read(const ReadWish& wish) override;
  // Nodes have no events.
  Result<std::vector<DriverEvent>> wait(std::chrono::milliseconds at_most) override;

 private:
  const HostFiles host_;
  std::uint64_t session_ = 0;
};

}  // namespace tranche
