// SPDX-License-Identifier: Apache-2.0
//
// Flags for resources and sharing. Constant data; only flag_table.cc includes it.
#pragma once

#include "core/settings/settings.h"
#include "programs/settings/flag_table.h"

namespace tranche::programs {

inline constexpr Word<MigStrategy> kMigStrategies[] = {
    {"none", MigStrategy::kNone}, {"single", MigStrategy::kSingle}, {"mixed", MigStrategy::kMixed}};
inline constexpr Word<SharePlacement> kReplicaPlacements[] = {
    {"distributed", SharePlacement::kDistributed}, {"packed", SharePlacement::kPacked}};
inline constexpr Word<MpsDaemons> kMpsDaemons[] = {{"per-gpu", MpsDaemons::kPerGpu},
                                                   {"per-node", MpsDaemons::kPerNode},
                                                   {"outside", MpsDaemons::kOutside},
                                                   {"nvidia", MpsDaemons::kNvidia}};
inline constexpr Word<MpsClients> kMpsClients[] = {{"any", MpsClients::kAny},
                                                   {"non-root", MpsClients::kNonRoot}};

inline constexpr Option kSharingFlags[] = {
    {.name = "profile",
     .key = "tranche.profile",
     .type = ValueType::kChoice,
     .fallback = "nvidia",
     .fallback_note = "nvidia, or the profile of the plugin whose name the program has",
     .allowed = "nvidia,deepomatic,gcp,gpushare,nested-host,nested-guest",
     .complaint = "unknown profile: ",
     .help =
         "The plugin to replace: a set of defaults, each of which can be overridden. nvidia: "
         "NVIDIA's device plugin. deepomatic: replicas of every GPU as deepomatic.com/shared-gpu. "
         "gcp: Google's, nvidia.com/gpu without NVIDIA's runtime. gpushare: GPU memory as "
         "aliyun.com/gpu-mem. nested-host: like nvidia, for node pods, which see all GPUs and get "
         "a list of their own. nested-guest: like nvidia, in such a node, with only the granted "
         "GPUs. tranche.policies in the file replaces what a profile offers."},
    {.name = "gpu-duplication-factor",
     .environment = {"GPU_DUPLICATION_FACTOR", "DP_NUMBER_CONTAINERS_PER_GPU"},
     .type = ValueType::kNumber,
     .fallback = "100",
     .help = "Number of deepomatic.com/shared-gpu for each GPU: 1 to 1000000. For the profile "
             "deepomatic; with nvidia, nested-host and nested-guest, it enables these replicas."},
    {.name = "memory-unit",
     .fallback = "GiB",
     .help = "Memory of one aliyun.com/gpu-mem: GiB, MiB, any size such as 256MiB, or auto for the "
             "smallest that the kubelet accepts. For the profile gpushare."},
    {.name = "mig-strategy",
     .key = "flags.migStrategy",
     .to = {word_field<kMigStrategies, &Settings::sharing, &SharingPolicy::mig>},
     .fallback = "none",
     .complaint = "unknown MIG strategy: ",
     .help = "How GPUs with MIG are offered. none: every GPU as a whole. single: MIG devices as "
             "nvidia.com/gpu, without GPUs whose profiles differ from those of most. mixed: MIG "
             "devices as nvidia.com/mig-<profile>."},
    {.name = "exclude-devices",
     .key = "tranche.excludeDevices",
     .type = ValueType::kTextList,
     .help = "GPUs that are not offered. Each is an index (0), a GPU uuid (GPU-8f1c...), a "
             "PCI address in any form (0000:07:00.0, 07:00.0), or a model pattern with at least "
             "one * in it (*T4*)."},
    {.name = "shared-devices-allocation-policy",
     .key = "flags.plugin.sharedDevicesAllocationPolicy",
     .to = {word_field<kReplicaPlacements, &Settings::sharing, &SharingPolicy::replica_placement>},
     .fallback = "distributed",
     .complaint = "invalid --shared-devices-allocation-policy option: ",
     .help = "Which GPU the next replica is taken from. distributed: the one with the fewest "
             "replicas in use. packed: the one with the most."},
    {.name = "mps",
     .type = ValueType::kBool,
     .fallback = "false",
     .help = "Whether containers of the profile's resource use MPS. With gpushare, the pipe "
             "directory is /tmp/nvidia-mps unless another is given."},
    {.name = "mps-pipe",
     .key = "tranche.mps.pipe",
     .type = ValueType::kPath,
     .help = "Pipe directory of an external MPS daemon, mounted into containers at the same path. "
             "The profile's resource then uses it."},
    {.name = "mps-daemons",
     .key = "tranche.mps.daemons",
     .to = {word_field<kMpsDaemons, &Settings::mps, &MpsOptions::daemons>},
     .fallback = "per-gpu",
     .fallback_note = "outside with --mps-pipe, else nvidia with --mps-root, else per-gpu",
     .complaint = "unknown kind of MPS daemons: ",
     .help = "Who runs the MPS daemons. per-gpu: this program, one for each GPU. per-node: this "
             "program, one for all GPUs, so that containers may have several. outside: an external "
             "daemon at --mps-pipe. nvidia: NVIDIA's mps-control-daemon, below --mps-root."},
    {.name = "mps-dir",
     .key = "tranche.mps.directory",
     .to = {field<&Settings::mps, &MpsOptions::directory>},
     .type = ValueType::kPath,
     .fallback = "/run/tranche/mps",
     .help =
         "Folder for pipes and logs of the agent's MPS daemons, with the same path on the host."},
    {.name = "mps-shared-memory",
     .key = "tranche.mps.sharedMemory",
     .to = {field<&Settings::mps, &MpsOptions::shared_memory>},
     .fallback = "false",
     .help = "Whether containers get a /dev/shm that they share with the daemon, as old drivers "
             "need it."},
    {.name = "mps-shared-memory-size",
     .key = "tranche.mps.sharedMemorySize",
     .fallback = "64MiB",
     .help = "Size of that /dev/shm: one tmpfs for each daemon, which all containers of its GPUs "
             "share."},
    {.name = "mps-clients",
     .key = "tranche.mps.clients",
     .to = {word_field<kMpsClients, &Settings::mps, &MpsOptions::rules, &MpsRules::clients>},
     .fallback = "any",
     .complaint = "unknown kind of MPS clients: ",
     .help =
         "Users that MPS clients may run as. A client that is root on the node can raise its own "
         "limit and end other clients through the daemon's socket. non-root: clients that run as "
         "root are reported. The chart has an admission policy against such pods."},
    {.name = "mps-end-holders",
     .key = "tranche.mps.endHolders",
     .to = {field<&Settings::mps, &MpsOptions::rules, &MpsRules::end_holders>},
     .fallback = "true",
     .help = "Whether the agent closes a connection that blocks a daemon's control socket for 10 "
             "s, and kills a pod's process that does so repeatedly. false: the agent only reports "
             "the process, and the GPU stays unhealthy."},
    {.name = "mps-root",
     .key = "flags.mpsRoot",
     .type = ValueType::kPath,
     .help = "Folder of NVIDIA's mps-control-daemon on the host. Resources with MPS then use its "
             "daemons."},
};

}  // namespace tranche::programs
