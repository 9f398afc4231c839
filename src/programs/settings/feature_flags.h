// SPDX-License-Identifier: Apache-2.0
//
// Flags for node labels. Constant data; only flag_table.cc includes it.
#pragma once

#include "core/settings/settings.h"
#include "programs/settings/flag_table.h"

namespace tranche::programs {

inline constexpr Word<LabelOutput> kLabelOutputs[] = {
    {"none", LabelOutput::kNone}, {"api", LabelOutput::kApi}, {"file", LabelOutput::kFile}};

inline constexpr Option kFeatureFlags[] = {
    {.name = "node-labels",
     .key = "tranche.nodeLabels",
     .to = {word_field<kLabelOutputs, &Settings::features, &FeatureOptions::labels>},
     .fallback = "none",
     .complaint = "unknown way to label the node: ",
     .help = "Whether the agent labels its node as NVIDIA's GPU feature discovery does. api: by "
             "the API server. file: with a features file for Node Feature Discovery."},
    {.name = "output-file",
     .environment = {"GFD_OUTPUT_FILE"},
     .key = "flags.gfd.outputFile",
     .to = {field<&Settings::features, &FeatureOptions::output_file>},
     .type = ValueType::kPath,
     .fallback = "/etc/kubernetes/node-feature-discovery/features.d/gfd",
     .help = "With --node-labels=file: the features file. Its folder must exist, and Node Feature "
             "Discovery must read it."},
    {.name = "machine-type-file",
     .environment = {"GFD_MACHINE_TYPE_FILE"},
     .key = "flags.gfd.machineTypeFile",
     .to = {field<&Settings::features, &FeatureOptions::machine_type_file>},
     .type = ValueType::kPath,
     .fallback = "/sys/class/dmi/id/product_name",
     .help = "File with the type of this machine, for the label nvidia.com/gpu.machine; below "
             "--host-root."},
    {.name = "no-timestamp",
     .environment = {"GFD_NO_TIMESTAMP"},
     .key = "flags.gfd.noTimestamp",
     .to = {field<&Settings::features, &FeatureOptions::no_timestamp>},
     .fallback = "false",
     .help = "Whether the label nvidia.com/gfd.timestamp is left out."},
};

}  // namespace tranche::programs
