// SPDX-License-Identifier: Apache-2.0
#include "programs/settings/testing/setting_rows.h"

namespace tranche::programs::testing {

std::vector<SettingRow> config_rows() {
  return {
      {{"config-dir"},
       {"CONFIG_DIR"},
       "",
       "",
       "/available-configs",
       "/x",
       "",
       "configs",
       [](Settings& s) { s.named_configs.folder = "/available-configs"; }},
      {{"config-label", "node-label"},
       {"NODE_LABEL"},
       "",
       "nvidia.com/device-plugin.config",
       "example.com/gpus",
       "x",
       "",
       "\x01",
       [](Settings& s) { s.named_configs.label = "example.com/gpus"; }},
      {{"default-config"},
       {"DEFAULT_CONFIG"},
       "",
       "",
       "shared",
       "x",
       "",
       "\x01",
       [](Settings& s) { s.named_configs.default_name = "shared"; }},
      {{"fallback-strategies"},
       {"FALLBACK_STRATEGIES"},
       "",
       "",
       "named,single",
       "empty",
       "",
       "newest",
       [](Settings& s) {
         s.named_configs.fallbacks = {ConfigFallback::kNamed, ConfigFallback::kSingle};
       }},
  };
}

}  // namespace tranche::programs::testing
