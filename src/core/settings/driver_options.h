// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

namespace tranche::core {

struct DriverOptions {
  // Our mount of the host's driver root. The management library is searched below it first, then
  // by the loader's path.
  std::string container_root = "/driver-root";
  // Timeout of all calls for one GPU together, after which it counts as hung.
  std::chrono::milliseconds call_patience = std::chrono::seconds(10);

  bool operator==(const DriverOptions&) const = default;
};

}  // namespace tranche::core
