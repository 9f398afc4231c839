// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

namespace tranche::core {

struct DriverOptions {
  // Where the host's driver root is mounted for us. The management library is
  // looked for below it first, then by the loader's path.
  std::string container_root = "/driver-root";
  // How long the calls for one GPU may take together before it counts as hung.
  std::chrono::milliseconds call_patience = std::chrono::seconds(10);

  bool operator==(const DriverOptions&) const = default;
};

}  // namespace tranche::core
