// SPDX-License-Identifier: Apache-2.0
//
// Flags and variables of NVIDIA's config-manager.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "core/settings/named_config_options.h"
#include "os/settings/read_options.h"

namespace tranche::programs {

struct ConfigManagerFlags {
  bool oneshot = false;
  std::string kubeconfig;
  std::string node_name;
  NamedConfigOptions configs;
  std::vector<std::string> fallbacks;  // as words; configs has them too
  std::string destination;             // the link
  bool send_signal = true;
  unsigned signal = 1;
  std::string process;
  bool help = false;
};

Result<ConfigManagerFlags> read_config_manager_flags(const std::vector<std::string>& arguments,
                                                     const Environment& environment);
std::string config_manager_help();

}  // namespace tranche::programs
