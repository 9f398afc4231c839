// SPDX-License-Identifier: Apache-2.0
//
// Finds processes that have device nodes of GPUs open, by /proc below the host's root. A container
// sees the processes of its PID namespace.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tranche::node {

struct DeviceUser {
  int pid = 0;
  std::string program;  // "python3"; the kernel cuts it after 15 bytes
  std::string node;     // "/dev/nvidia2"

  bool operator==(const DeviceUser&) const = default;
};

struct DeviceUsers {
  std::vector<DeviceUser> found;  // by pid, then node
  // All processes of the host were checked. False: there may be others.
  bool is_complete = false;

  bool operator==(const DeviceUsers&) const = default;
};

// `nodes`: "/dev/nvidia2", on the host.
DeviceUsers device_users(std::string_view root, const std::vector<std::string>& nodes);

}  // namespace tranche::node
