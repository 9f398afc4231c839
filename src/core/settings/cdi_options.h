// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/settings/toolkit_version.h"

namespace tranche::core {

// The folder for CDI specifications, and the paths and hooks in them.
struct CdiOptions {
  std::string directory = "/var/run/cdi";
  // The driver root for the host's runtime, and for us: a path found below the second is written
  // as below the first.
  std::string driver_root = "/";
  std::string container_driver_root = "/driver-root";
  // The same for device nodes.
  std::string dev_root = "/";
  std::string hook_path = "/usr/bin/nvidia-ctk";  // on the host
  std::optional<ToolkitVersion> toolkit;          // its version; empty: read it from the program
  std::vector<std::string> feature_flags;
  std::vector<std::string> disabled_hooks;  // names, or "all"
  // Not configured but computed: a resource has the enforcement level `driver`, which needs
  // a hook.
  bool limits_memory = false;

  bool operator==(const CdiOptions&) const = default;
};

}  // namespace tranche::core
