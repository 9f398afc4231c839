// SPDX-License-Identifier: Apache-2.0
//
// Which processes have device nodes of GPUs open, by /proc below the host's root. In a
// container that is as much as its PID namespace shows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tranche::node {

struct DeviceUser {
  int pid = 0;
  std::string program;  // "python3"; as the kernel has it, cut after 15 bytes
  std::string node;     // "/dev/nvidia2"

  bool operator==(const DeviceUser&) const = default;
};

struct DeviceUsers {
  std::vector<DeviceUser> found;  // by pid, then node
  // Every process of the host was looked at. Else there may be others.
  bool is_complete = false;

  bool operator==(const DeviceUsers&) const = default;
};

// `nodes`: "/dev/nvidia2", on the host.
DeviceUsers device_users(std::string_view root, const std::vector<std::string>& nodes);

}  // namespace tranche::node
