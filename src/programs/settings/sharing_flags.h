// SPDX-License-Identifier: Apache-2.0
//
// The part of the flag table about resources and how they are shared. Constant
// data; only flag_table.cc includes it.
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
     .fallback_note = "nvidia, or that of the system whose program name this is called by",
     .allowed = "nvidia,deepomatic,gcp,gpushare,nested-host,nested-guest",
     .complaint = "unknown profile: ",
     .help =
         "Whose place this program takes: a set of defaults, each of which can be given "
         "otherwise. nvidia: NVIDIA's device plugin. deepomatic: every GPU as so many "
         "deepomatic.com/shared-gpu. gcp: Google's, nvidia.com/gpu without NVIDIA's runtime. "
         "gpushare: GPU memory as aliyun.com/gpu-mem. nested-host: as nvidia, for pods that are "
         "themselves nodes: they see all GPUs and are told which are theirs. nested-guest: as "
         "nvidia, in such a node, with the granted GPUs alone. tranche.policies in the file takes "
         "the "
         "place of what a profile offers."},
    {.name = "gpu-duplication-factor",
     .environment = {"GPU_DUPLICATION_FACTOR", "DP_NUMBER_CONTAINERS_PER_GPU"},
     .type = ValueType::kNumber,
     .fallback = "100",
     .help = "How often each GPU is offered as deepomatic.com/shared-gpu: 1 to 1000000. For the "
             "profile deepomatic; with nvidia, nested-host and nested-guest, it asks for these "
             "replicas."},
    {.name = "memory-unit",
     .fallback = "GiB",
     .help = "Memory that counts as one aliyun.com/gpu-mem: GiB, MiB, any size such as 256MiB, or "
             "auto for the smallest that the kubelet can take. For the profile gpushare."},
    {.name = "mig-strategy",
     .key = "flags.migStrategy",
     .to = {word_field<kMigStrategies, &Settings::sharing, &SharingPolicy::mig>},
     .fallback = "none",
     .complaint = "unknown MIG strategy: ",
     .help = "What becomes of GPUs that are cut with MIG. none: every GPU is offered whole. "
             "single: MIG devices are offered as nvidia.com/gpu; GPUs that are cut otherwise "
             "than most are left out. "
             "mixed: MIG devices are offered as nvidia.com/mig-<profile>."},
    {.name = "exclude-devices",
     .key = "tranche.excludeDevices",
     .type = ValueType::kTextList,
     .help = "GPUs that are not offered at all. Each is an index (0), a GPU uuid (GPU-8f1c...), a "
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
     .help = "Whether containers of what the profile offers go through MPS. With gpushare, by the "
             "pipe directory /tmp/nvidia-mps unless another is given."},
    {.name = "mps-pipe",
     .key = "tranche.mps.pipe",
     .type = ValueType::kPath,
     .help = "Pipe directory of an MPS daemon that somebody else runs; mounted into containers at "
             "its own path. What the profile offers then goes through it."},
    {.name = "mps-daemons",
     .key = "tranche.mps.daemons",
     .to = {word_field<kMpsDaemons, &Settings::mps, &MpsOptions::daemons>},
     .fallback = "per-gpu",
     .fallback_note = "outside with --mps-pipe, else nvidia with --mps-root, else per-gpu",
     .complaint = "unknown kind of MPS daemons: ",
     .help = "Who runs the MPS daemons. per-gpu: this program, one for each GPU. per-node: this "
             "program, one for all of them, so that containers may have several GPUs. outside: "
             "somebody else, at --mps-pipe. nvidia: NVIDIA's mps-control-daemon, below "
             "--mps-root."},
    {.name = "mps-dir",
     .key = "tranche.mps.directory",
     .to = {field<&Settings::mps, &MpsOptions::directory>},
     .type = ValueType::kPath,
     .fallback = "/run/tranche/mps",
     .help = "Folder for pipes and logs of our own MPS daemons; the same path on the host."},
    {.name = "mps-shared-memory",
     .key = "tranche.mps.sharedMemory",
     .to = {field<&Settings::mps, &MpsOptions::shared_memory>},
     .fallback = "false",
     .help = "Whether containers get a /dev/shm that they share with the daemon, as old drivers "
             "need it."},
    {.name = "mps-shared-memory-size",
     .key = "tranche.mps.sharedMemorySize",
     .fallback = "64MiB",
     .help = "How large that /dev/shm is: a tmpfs for each daemon, which all containers of its "
             "GPUs share."},
    {.name = "mps-clients",
     .key = "tranche.mps.clients",
     .to = {word_field<kMpsClients, &Settings::mps, &MpsOptions::rules, &MpsRules::clients>},
     .fallback = "any",
     .complaint = "unknown kind of MPS clients: ",
     .help = "Whom containers may run as that go through MPS. Root on the node can lift its own "
             "limit and end others' clients by the daemon's socket. non-root: clients that run as "
             "root are reported. The chart has a policy that keeps such pods out."},
    {.name = "mps-end-holders",
     .key = "tranche.mps.endHolders",
     .to = {field<&Settings::mps, &MpsOptions::rules, &MpsRules::end_holders>},
     .fallback = "true",
     .help =
         "Whether the agent ends a connection to a daemon's control socket that keeps everybody "
         "else from it for 10 s, and kills a pod's process that connects so again and again. "
         "false: the process is only named, and the GPU stays unhealthy."},
    {.name = "mps-root",
     .key = "flags.mpsRoot",
     .type = ValueType::kPath,
     .help = "Where NVIDIA's mps-control-daemon keeps its files on the host. Resources that go "
             "through MPS use its daemons then."},
};

}  // namespace tranche::programs
