// SPDX-License-Identifier: Apache-2.0
//
// Several named configurations, one of which a label of the Node chooses.
#pragma once

#include <string>
#include <vector>

#include "base/words.h"

namespace tranche::core {

// What to use on a node without the label, where there is no default. NVIDIA's strategies.
enum class ConfigFallback {
  kNamed,   // the configuration `default`
  kSingle,  // the only one
  kEmpty,   // none: all settings have their defaults
};
inline constexpr Word<ConfigFallback> kConfigFallbacks[] = {{"named", ConfigFallback::kNamed},
                                                            {"single", ConfigFallback::kSingle},
                                                            {"empty", ConfigFallback::kEmpty}};

struct NamedConfigOptions {
  std::string folder;  // with a file for each configuration; empty: the label is not used
  std::string label = "nvidia.com/device-plugin.config";  // of the Node
  std::string default_name;
  std::vector<ConfigFallback> fallbacks;  // in this order

  bool operator==(const NamedConfigOptions&) const = default;
};

}  // namespace tranche::core
