// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tranche {

struct DriverOptions {
  // Where the host's driver root is mounted for us. The management library is
  // looked for below it first, then by the loader's path.
  std::string container_root = "/driver-root";

  bool operator==(const DriverOptions&) const = default;
};

}  // namespace tranche
