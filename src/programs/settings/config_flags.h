// SPDX-License-Identifier: Apache-2.0
//
// Flags for several named configurations, one of which the node's label chooses. The names are
// those of NVIDIA's config-manager. Constant data; only flag_table.cc includes it.
#pragma once

#include "core/settings/settings.h"
#include "programs/settings/flag_table.h"

namespace tranche::programs {

inline constexpr Option kConfigFlags[] = {
    {.name = "config-dir",
     .to = {field<&Settings::named_configs, &NamedConfigOptions::folder>},
     .type = ValueType::kPath,
     .help =
         "Folder with several configuration files, such as a mounted ConfigMap, in the place "
         "of --config-file. The Node's label --config-label names the one to use. A change "
         "of the label or of the file takes effect without a restart. --node-name is the Node."},
    {.name = "config-label",
     .aliases = {"node-label"},
     .environment = {"NODE_LABEL"},
     .to = {field<&Settings::named_configs, &NamedConfigOptions::label>},
     .fallback = "nvidia.com/device-plugin.config",
     .placeholder = "LABEL",
     .help = "The Node's label that names a file of --config-dir."},
    {.name = "default-config",
     .to = {field<&Settings::named_configs, &NamedConfigOptions::default_name>},
     .placeholder = "NAME",
     .help = "The file of --config-dir for a node without the label."},
    {.name = "fallback-strategies",
     .type = ValueType::kTextList,
     .allowed = "named,single,empty",
     .complaint = "unknown fallback strategy: ",
     .help = "What to use on a node without the label if there is no --default-config; the first "
             "that applies. named: the file `default`. single: the only file. empty: no file."},
};

}  // namespace tranche::programs
