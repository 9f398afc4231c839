// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace tranche {

// Where CDI specifications go, and what their paths and hooks are made of.
struct CdiOptions {
  std::string directory = "/var/run/cdi";
  // The driver's files as the host's runtime will see them, and where we see
  // them: a path found below the second is written as below the first.
  std::string driver_root = "/";
  std::string container_driver_root = "/driver-root";
  // The same for device nodes.
  std::string dev_root = "/";
  std::string hook_path = "/usr/bin/nvidia-ctk";  // on the host
  std::vector<std::string> feature_flags;
  std::vector<std::string> disabled_hooks;  // names, or "all"

  bool operator==(const CdiOptions&) const = default;
};

}  // namespace tranche
