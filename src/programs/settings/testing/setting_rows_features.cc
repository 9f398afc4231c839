// SPDX-License-Identifier: Apache-2.0
#include "programs/settings/testing/setting_rows.h"

namespace tranche::programs::testing {

std::vector<SettingRow> feature_rows() {
  return {
      {{"node-labels"},
       {"NODE_LABELS"},
       "tranche.nodeLabels",
       "none",
       "file",
       "api",
       "file",
       "nfd",
       [](Settings& s) { s.features.labels = LabelOutput::kFile; }},
      {{"output-file"},
       {"GFD_OUTPUT_FILE"},
       "flags.gfd.outputFile",
       "/etc/kubernetes/node-feature-discovery/features.d/gfd",
       "/features/gfd",
       "/x",
       "/features/gfd",
       "gfd",
       [](Settings& s) { s.features.output_file = "/features/gfd"; }},
      {{"machine-type-file"},
       {"GFD_MACHINE_TYPE_FILE"},
       "flags.gfd.machineTypeFile",
       "/sys/class/dmi/id/product_name",
       "/machine",
       "/x",
       "/machine",
       "machine",
       [](Settings& s) { s.features.machine_type_file = "/machine"; }},
      {{"no-timestamp"},
       {"GFD_NO_TIMESTAMP"},
       "flags.gfd.noTimestamp",
       "false",
       "true",
       "false",
       "true",
       "x",
       [](Settings& s) { s.features.no_timestamp = true; }},
  };
}

}  // namespace tranche::programs::testing
