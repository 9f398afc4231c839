// SPDX-License-Identifier: Apache-2.0
//
// The part of the flag table about resources and how they are shared. Constant
// data; only flag_table.cc includes it.
#pragma once

#include "config/flag_table.h"

namespace tranche {

inline constexpr FlagSpec kSharingFlags[] = {
    {.name = "profile",
     .environment = {"PROFILE"},
     .key = "tranche.profile",
     .type = ValueType::kChoice,
     .group = FlagGroup::kSharing,
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
     .group = FlagGroup::kSharing,
     .fallback = "100",
     .help = "How often each GPU is offered as deepomatic.com/shared-gpu: 1 to 1000000. For the "
             "profile deepomatic; with nvidia, nested-host and nested-guest, it asks for these "
             "replicas."},
    {.name = "memory-unit",
     .environment = {"MEMORY_UNIT"},
     .group = FlagGroup::kSharing,
     .fallback = "GiB",
     .help = "Memory that counts as one aliyun.com/gpu-mem: GiB, MiB, any size such as 256MiB, or "
             "auto for the smallest that the kubelet can take. For the profile gpushare."},
    {.name = "mig-strategy",
     .environment = {"MIG_STRATEGY"},
     .key = "flags.migStrategy",
     .type = ValueType::kChoice,
     .group = FlagGroup::kSharing,
     .fallback = "none",
     .allowed = "none,single,mixed",
     .complaint = "unknown MIG strategy: ",
     .help = "What becomes of GPUs that are cut with MIG. none: every GPU is offered whole. "
             "single: MIG devices are offered as nvidia.com/gpu; GPUs that are cut otherwise "
             "than most are left out. "
             "mixed: MIG devices are offered as nvidia.com/mig-<profile>."},
    {.name = "exclude-devices",
     .environment = {"EXCLUDE_DEVICES"},
     .key = "tranche.excludeDevices",
     .type = ValueType::kTextList,
     .group = FlagGroup::kSharing,
     .help = "GPUs that are not offered at all. Each is an index (0), a GPU uuid (GPU-8f1c...), a "
             "PCI address in any form (0000:07:00.0, 07:00.0), or a model pattern with at least "
             "one * in it (*T4*)."},
    {.name = "shared-devices-allocation-policy",
     .environment = {"SHARED_DEVICES_ALLOCATION_POLICY"},
     .key = "flags.plugin.sharedDevicesAllocationPolicy",
     .type = ValueType::kChoice,
     .group = FlagGroup::kSharing,
     .fallback = "distributed",
     .allowed = "distributed,packed",
     .complaint = "invalid --shared-devices-allocation-policy option: ",
     .help = "Which GPU the next replica is taken from. distributed: the one with the fewest "
             "replicas in use. packed: the one with the most."},
};

inline constexpr FlagSpec kMpsFlags[] = {
    {.name = "mps",
     .environment = {"MPS"},
     .type = ValueType::kBool,
     .group = FlagGroup::kSharing,
     .fallback = "false",
     .help = "Whether containers of what the profile offers go through MPS. With gpushare, by the "
             "pipe directory /tmp/nvidia-mps unless another is given."},
    {.name = "mps-pipe",
     .environment = {"MPS_PIPE"},
     .key = "tranche.mps.pipe",
     .type = ValueType::kPath,
     .group = FlagGroup::kSharing,
     .help = "Pipe directory of an MPS daemon that somebody else runs; mounted into containers at "
             "its own path. What the profile offers then goes through it."},
    {.name = "mps-daemons",
     .environment = {"MPS_DAEMONS"},
     .key = "tranche.mps.daemons",
     .type = ValueType::kChoice,
     .group = FlagGroup::kSharing,
     .fallback = "per-gpu",
     .fallback_note = "outside with --mps-pipe, else nvidia with --mps-root, else per-gpu",
     .allowed = "per-gpu,per-node,outside,nvidia",
     .complaint = "unknown kind of MPS daemons: ",
     .help = "Who runs the MPS daemons. per-gpu: this program, one for each GPU. per-node: this "
             "program, one for all of them, so that containers may have several GPUs. outside: "
             "somebody else, at --mps-pipe. nvidia: NVIDIA's mps-control-daemon, below "
             "--mps-root."},
    {.name = "mps-dir",
     .environment = {"MPS_DIR"},
     .key = "tranche.mps.directory",
     .type = ValueType::kPath,
     .group = FlagGroup::kSharing,
     .fallback = "/run/tranche/mps",
     .help = "Folder for pipes and logs of our own MPS daemons; the same path on the host."},
    {.name = "mps-shared-memory",
     .environment = {"MPS_SHARED_MEMORY"},
     .key = "tranche.mps.sharedMemory",
     .type = ValueType::kBool,
     .group = FlagGroup::kSharing,
     .fallback = "false",
     .help = "Whether containers get a /dev/shm that they share with the daemon, as old drivers "
             "need it."},
    {.name = "mps-root",
     .environment = {"MPS_ROOT"},
     .key = "flags.mpsRoot",
     .type = ValueType::kPath,
     .group = FlagGroup::kSharing,
     .help = "Where NVIDIA's mps-control-daemon keeps its files on the host. Resources that go "
             "through MPS use its daemons then."},
};

}  // namespace tranche
