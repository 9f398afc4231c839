// SPDX-License-Identifier: Apache-2.0
//
// The part of the flag table about nested clusters. Constant data; only
// flag_table.cc includes it.
#pragma once

#include "config/flag_table.h"

namespace tranche {

inline constexpr FlagSpec kNestedFlags[] = {
    {.name = "nested-exposure",
     .environment = {"NESTED_EXPOSURE"},
     .key = "tranche.nested.exposure",
     .type = ValueType::kChoice,
     .group = FlagGroup::kNested,
     .fallback = "envvar",
     .allowed = "envvar,all,granted",
     .complaint = "unknown exposure: ",
     .help = "With the profile nested-host: what a node pod sees of GPUs that it was not granted. "
             "envvar: NVIDIA_VISIBLE_DEVICES lists all GPUs of the node; device nodes, mounts and "
             "CDI names are those of the granted ones. all: these are of all GPUs, too. granted: "
             "nothing of the others."},
    {.name = "nested-dir",
     .environment = {"NESTED_DIR"},
     .key = "tranche.nested.directory",
     .type = ValueType::kPath,
     .group = FlagGroup::kNested,
     .fallback_note = "<state folder>/nested",
     .help = "Folder for the files that are mounted into node pods; on disk, and the same path on "
             "the host."},
    {.name = "nested-guest",
     .environment = {"NESTED_GUEST"},
     .key = "tranche.nested.guest",
     .type = ValueType::kBool,
     .group = FlagGroup::kNested,
     .fallback = "false",
     .fallback_note = "true with the profile nested-guest, else false",
     .help = "Whether this node is a pod of a host's node: only GPUs that the host granted are "
             "offered. For use with another profile than nested-guest."},
    {.name = "host-grants",
     .environment = {"HOST_GRANTS"},
     .key = "tranche.nested.hostGrants",
     .type = ValueType::kPath,
     .group = FlagGroup::kNested,
     .fallback = "/gpu-grants",
     .help = "In a nested cluster: the folder in which the host says what it granted."},
    {.name = "gpu-env",
     .environment = {"GPU_ENV"},
     .key = "tranche.nested.gpuEnv",
     .type = ValueType::kPath,
     .group = FlagGroup::kNested,
     .fallback = "/gpu.env",
     .help = "In a nested cluster: the file with the uuids of the granted GPUs, read where there "
             "is nothing in --host-grants."},
};

}  // namespace tranche
