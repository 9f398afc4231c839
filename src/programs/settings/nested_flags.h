// SPDX-License-Identifier: Apache-2.0
//
// Flags for nested clusters. Constant data; only flag_table.cc includes it.
#pragma once

#include "core/settings/settings.h"
#include "programs/settings/flag_table.h"

namespace tranche::programs {

inline constexpr Word<GpuEnvMount> kGpuEnvMounts[] = {{"read-only", GpuEnvMount::kReadOnly},
                                                      {"pod", GpuEnvMount::kPod}};

inline constexpr Option kNestedFlags[] = {
    {.name = "nested-exposure",
     .key = "tranche.nested.exposure",
     .to = {choice<kExposures>},
     .fallback = "envvar",
     .complaint = "unknown exposure: ",
     .help = "With the profile nested-host: what a node pod sees of GPUs that it was not granted. "
             "envvar: NVIDIA_VISIBLE_DEVICES lists all GPUs of the node, but device nodes, mounts "
             "and CDI names are only those of the granted ones. all: those of all GPUs. granted: "
             "nothing of other GPUs."},
    {.name = "nested-dir",
     .key = "tranche.nested.directory",
     .to = {field<&Settings::nested, &NestedOptions::directory>},
     .type = ValueType::kPath,
     .fallback_note = "<state folder>/nested",
     .help = "Folder for the files that are mounted into node pods; on disk, with the same path on "
             "the host."},
    {.name = "nested-gpu-env",
     .key = "tranche.nested.gpuEnvMount",
     .to = {word_field<kGpuEnvMounts, &Settings::nested, &NestedOptions::gpu_env_mount>},
     .fallback = "read-only",
     .complaint = "unknown way to hand off /gpu.env: ",
     .help = "What a node pod gets at /gpu.env. read-only: a file with the uuids of its GPUs, kept "
             "current and read-only. pod: nothing; a script of the pod writes one from "
             "NVIDIA_ALLOCATED_DEVICES, and it counts as the pod's own storage."},
    {.name = "nested-guest",
     .key = "tranche.nested.guest",
     .to = {field<&Settings::nested, &NestedOptions::guest>},
     .fallback = "false",
     .fallback_note = "true with the profile nested-guest, else false",
     .help = "Whether this node is a pod of a host's node: only GPUs that the host granted are "
             "offered. For use with another profile than nested-guest."},
    {.name = "host-grants",
     .key = "tranche.nested.hostGrants",
     .to = {field<&Settings::nested, &NestedOptions::host_grants>},
     .type = ValueType::kPath,
     .fallback = "/gpu-grants",
     .help = "In a nested cluster: the folder with the host's grants."},
    {.name = "gpu-env",
     .key = "tranche.nested.gpuEnv",
     .to = {field<&Settings::nested, &NestedOptions::gpu_env>},
     .type = ValueType::kPath,
     .fallback = "/gpu.env",
     .help = "In a nested cluster: the file with the uuids of the granted GPUs, read if "
             "--host-grants is empty."},
};

}  // namespace tranche::programs
