// SPDX-License-Identifier: Apache-2.0
#include "config/flag_table.h"

#include <algorithm>

#include "base/text.h"
#include "config/foreign_flags.h"
#include "config/nested_flags.h"
#include "config/sharing_flags.h"

namespace tranche {
namespace {

constexpr FlagSpec kContainerFlags[] = {
    {.name = "device-list-strategy",
     .environment = {"DEVICE_LIST_STRATEGY"},
     .key = "flags.plugin.deviceListStrategy",
     .type = ValueType::kTextList,
     .group = FlagGroup::kContainers,
     .fallback = "envvar",
     .allowed = "envvar,volume-mounts,cdi-annotations,cdi-cri",
     .complaint = "invalid --device-list-strategy option: invalid strategy: ",
     .help = "How the container runtime is told of a container's GPUs; any combination. envvar: "
             "NVIDIA_VISIBLE_DEVICES. volume-mounts: mounts below "
             "/var/run/nvidia-container-devices. cdi-annotations and cdi-cri: CDI names, by "
             "annotation or by the kubelet's own field."},
    {.name = "device-id-strategy",
     .environment = {"DEVICE_ID_STRATEGY"},
     .key = "flags.plugin.deviceIDStrategy",
     .type = ValueType::kChoice,
     .group = FlagGroup::kContainers,
     .fallback = "uuid",
     .allowed = "uuid,index",
     .complaint = "invalid --device-id-strategy option: ",
     .help = "What GPUs are called towards the runtime: by uuid, or by the driver's index."},
    {.name = "pass-device-specs",
     .environment = {"PASS_DEVICE_SPECS"},
     .key = "flags.plugin.passDeviceSpecs",
     .type = ValueType::kBool,
     .group = FlagGroup::kContainers,
     .fallback = "false",
     .help = "Also hand the device nodes themselves to the kubelet. Needed with the kubelet's "
             "static CPU manager, which otherwise takes the GPUs away again."},
    {.name = "gdrcopy-enabled",
     .environment = {"GDRCOPY_ENABLED"},
     .key = "flags.gdrcopyEnabled",
     .type = ValueType::kBool,
     .group = FlagGroup::kContainers,
     .fallback = "false",
     .help = "Give containers GDRCopy (/dev/gdrdrv)."},
    {.name = "gds-enabled",
     .environment = {"GDS_ENABLED"},
     .key = "flags.gdsEnabled",
     .type = ValueType::kBool,
     .group = FlagGroup::kContainers,
     .fallback = "false",
     .help = "Give containers GPUDirect Storage (/dev/nvidia-fs*)."},
    {.name = "mofed-enabled",
     .environment = {"MOFED_ENABLED"},
     .key = "flags.mofedEnabled",
     .type = ValueType::kBool,
     .group = FlagGroup::kContainers,
     .fallback = "false",
     .help = "Give containers the InfiniBand devices of Mellanox OFED (/dev/infiniband)."},
    {.name = "imex-channel-ids",
     .environment = {"IMEX_CHANNEL_IDS"},
     .key = "imex.channelIDs",
     .type = ValueType::kNumberList,
     .group = FlagGroup::kContainers,
     .help = "IMEX channels that every GPU container gets: none, or channel 0."},
    {.name = "imex-required",
     .environment = {"IMEX_REQUIRED"},
     .key = "imex.required",
     .type = ValueType::kBool,
     .group = FlagGroup::kContainers,
     .fallback = "false",
     .help = "Whether a channel that the node does not have is an error."},
    {.name = "host-path",
     .environment = {"HOST_PATH"},
     .key = "tranche.hostPath",
     .type = ValueType::kPath,
     .group = FlagGroup::kContainers,
     .help = "Folder on the host with the driver's libraries, mounted read-only into every GPU "
             "container. For nodes without NVIDIA's container runtime. Off unless given."},
    {.name = "container-path",
     .environment = {"CONTAINER_PATH"},
     .key = "tranche.containerPath",
     .type = ValueType::kPath,
     .group = FlagGroup::kContainers,
     .fallback_note = "/usr/local/nvidia when --host-path is given",
     .help = "Where containers find the folder of --host-path. Only together with it."},
};

constexpr FlagSpec kCdiFlags[] = {
    {.name = "cdi-annotation-prefix",
     .environment = {"CDI_ANNOTATION_PREFIX"},
     .key = "flags.plugin.cdiAnnotationPrefix",
     .group = FlagGroup::kCdi,
     .fallback = "cdi.k8s.io/",
     .help = "What the annotation key of cdi-annotations begins with."},
    {.name = "nvidia-cdi-hook-path",
     .aliases = {"nvidia-ctk-path"},
     .environment = {"NVIDIA_CDI_HOOK_PATH", "NVIDIA_CTK_PATH"},
     .key = "flags.plugin.nvidiaCTKPath",
     .type = ValueType::kPath,
     .group = FlagGroup::kCdi,
     .fallback = "/usr/bin/nvidia-ctk",
     .help = "The hook program on the host that CDI specifications name."},
    {.name = "cdi-dir",
     .environment = {"CDI_DIR"},
     .type = ValueType::kPath,
     .group = FlagGroup::kCdi,
     .fallback = "/var/run/cdi",
     .help = "Folder that CDI specifications are written to. The runtime must read it."},
    {.name = "cdi-feature-flags",
     .environment = {"CDI_FEATURE_FLAGS"},
     .type = ValueType::kTextList,
     .group = FlagGroup::kCdi,
     .allowed = "enable-explicit-driver-libraries,disable-nvsandboxutils,"
                "disable-nvsandbox-utils,enable-coherent-annotations,disable-multiple-csv-devices,"
                "no-additional-gids-for-device-nodes,disable-ipc-discoverer",
     .complaint = "unknown CDI feature flag: ",
     .help = "Changes to how CDI specifications are made, by NVIDIA's names."},
    {.name = "cdi-disable-hooks",
     .environment = {"CDI_DISABLE_HOOKS"},
     .type = ValueType::kTextList,
     .group = FlagGroup::kCdi,
     .allowed = "all,create-symlinks,enable-cuda-compat,update-ldcache,"
                "disable-device-node-modification,update-application-profile,chmod,"
                "apply-cuda-memory-limits",
     .complaint = "unknown CDI hook: ",
     .help = "Hooks that CDI specifications leave out; all leaves out every one."},
};

constexpr FlagSpec kDriverFlags[] = {
    {.name = "fail-on-init-error",
     .environment = {"FAIL_ON_INIT_ERROR"},
     .key = "flags.failOnInitError",
     .type = ValueType::kBool,
     .group = FlagGroup::kDriver,
     .fallback = "true",
     .help = "Whether the program ends when it cannot reach the driver at its start. With false it "
             "stays and tries again."},
    {.name = "device-discovery-strategy",
     .environment = {"DEVICE_DISCOVERY_STRATEGY"},
     .key = "flags.deviceDiscoveryStrategy",
     .type = ValueType::kChoice,
     .group = FlagGroup::kDriver,
     .fallback = "auto",
     .allowed = "auto,nvml",
     .refused = "tegra,wsl",
     .complaint = "invalid --device-discovery-strategy option ",
     .help = "How GPUs are found. auto and nvml both ask the driver's management library. tegra "
             "and wsl are understood but refused: this version does not serve them."},
    {.name = "driver-root",
     .aliases = {"nvidia-driver-root"},
     .environment = {"NVIDIA_DRIVER_ROOT"},
     .key = "flags.nvidiaDriverRoot",
     .type = ValueType::kPath,
     .group = FlagGroup::kDriver,
     .fallback = "/",
     .help = "Root of the driver's files on the host."},
    {.name = "dev-root",
     .aliases = {"nvidia-dev-root"},
     .environment = {"NVIDIA_DEV_ROOT"},
     .key = "flags.nvidiaDevRoot",
     .type = ValueType::kPath,
     .group = FlagGroup::kDriver,
     .fallback_note = "the driver root",
     .help = "Root of the device nodes on the host."},
    {.name = "driver-root-ctr-path",
     .aliases = {"container-driver-root"},
     .environment = {"DRIVER_ROOT_CTR_PATH", "CONTAINER_DRIVER_ROOT"},
     .key = "flags.plugin.containerDriverRoot",
     .type = ValueType::kPath,
     .group = FlagGroup::kDriver,
     .fallback = "/driver-root",
     .help =
         "Where the host's driver root is mounted for this program. libnvidia-ml.so.1 is looked "
         "for below it first."},
    {.name = "host-root",
     .environment = {"HOST_ROOT"},
     .type = ValueType::kPath,
     .group = FlagGroup::kDriver,
     .fallback = "/",
     .help = "Where this program finds the host's /proc, /sys and /dev."},
    {.name = "driver-call-timeout",
     .environment = {"DRIVER_CALL_TIMEOUT"},
     .type = ValueType::kDuration,
     .group = FlagGroup::kDriver,
     .fallback = "10s",
     .help = "How long the driver's calls about one GPU may take together. After that the GPU is "
             "unhealthy until they return, and the others are looked at without it."},
};

constexpr FlagSpec kHealthFlags[] = {
    {.name = "health-check-interval",
     .environment = {"HEALTH_CHECK_INTERVAL"},
     .key = "tranche.healthCheckInterval",
     .type = ValueType::kDuration,
     .group = FlagGroup::kHealth,
     .fallback = "5s",
     .help = "How often GPUs are looked at when the driver reports no event. A duration such as "
             "500ms, 5s or 1m30s; from 100ms to 24h."},
    {.name = "",
     .environment = {"DP_DISABLE_HEALTHCHECKS"},
     .group = FlagGroup::kHealth,
     .help = "XIDs (the driver's error numbers) that do not make a GPU unhealthy, besides 13, 31, "
             "43, 45, 68 and 109: a list of numbers, or all."},
    {.name = "",
     .environment = {"DP_ENABLE_HEALTHCHECKS"},
     .group = FlagGroup::kHealth,
     .help = "XIDs that do make a GPU unhealthy, whatever the other variable and the default list "
             "say: a list of numbers, or all."},
};

constexpr FlagSpec kAgentFlags[] = {
    {.name = "config-file",
     .environment = {"CONFIG_FILE"},
     .group = FlagGroup::kAgent,
     .help = "The configuration file, YAML or JSON. It is read again when it changes."},
    {.name = "kubelet-socket",
     .environment = {"KUBELET_SOCKET"},
     .type = ValueType::kPath,
     .group = FlagGroup::kAgent,
     .fallback = "/var/lib/kubelet/device-plugins/kubelet.sock",
     .help = "The kubelet's registration socket. Our own sockets lie beside it. Empty: serve, but "
             "do not register."},
    {.name = "plugin-directory",
     .environment = {"PLUGIN_DIRECTORY"},
     .type = ValueType::kPath,
     .group = FlagGroup::kAgent,
     .fallback_note = "the folder of --kubelet-socket; /device-plugin with deepomatic and gcp",
     .help = "The same by its folder: the socket is kubelet.sock in it. Not together with another "
             "--kubelet-socket."},
    {.name = "pod-resources-socket",
     .environment = {"POD_RESOURCES_SOCKET"},
     .type = ValueType::kPath,
     .group = FlagGroup::kAgent,
     .fallback = "/var/lib/kubelet/pod-resources/kubelet.sock",
     .help = "Where the kubelet says which pod has which share. Empty: it is not asked."},
    {.name = "kubelet-checkpoint",
     .environment = {"KUBELET_CHECKPOINT"},
     .type = ValueType::kPath,
     .group = FlagGroup::kAgent,
     .fallback_note = "<folder of the kubelet socket>/kubelet_internal_checkpoint",
     .help = "The kubelet's own record of shares that it has given out; read, never written. "
             "Empty: it is not read."},
    {.name = "state-dir",
     .environment = {"STATE_DIR"},
     .type = ValueType::kPath,
     .group = FlagGroup::kAgent,
     .fallback_note = "<folder of the kubelet socket>/tranche",
     .help = "Folder for what must outlive a restart: GPU numbers, known faults, sizes of granted "
             "shares, memory units; and the control socket. Keep it on the host's disk."},
};

constexpr FlagSpec kLoggingFlags[] = {
    {.name = "log-format",
     .environment = {"LOG_FORMAT"},
     .key = "tranche.logFormat",
     .type = ValueType::kChoice,
     .group = FlagGroup::kLogging,
     .fallback = "text",
     .allowed = "text,json",
     .complaint = "unknown log format: ",
     .help = "How log lines are written: for people, or as one JSON object each."},
    {.name = "v",
     .type = ValueType::kNumber,
     .group = FlagGroup::kLogging,
     .fallback = "0",
     .help = "How much is logged, as glog counts it: 4 and above also logs what helps in finding a "
             "fault."},
};

// The groups above as one array.
template <std::size_t... Sizes>
constexpr auto joined(const FlagSpec (&... groups)[Sizes]) {
  std::array<FlagSpec, (Sizes + ...)> all{};
  auto* next = all.data();
  ((next = std::ranges::copy(groups, next).out), ...);
  return all;
}

constexpr auto kTable =
    joined(kSharingFlags, kMpsFlags, kNestedFlags, kContainerFlags, kCdiFlags, kDriverFlags,
           kHealthFlags, kAgentFlags, kLoggingFlags, kGlogFlags, kGpushareFlags, kGcpFlags);

}  // namespace

std::vector<std::string> FlagSpec::allowed_words() const {
  return allowed.empty() ? std::vector<std::string>{} : split(allowed, ',');
}

std::span<const FlagSpec> flag_table() { return kTable; }

const FlagSpec* find_flag(std::string_view name) {
  if (name.empty()) return nullptr;
  for (const FlagSpec& flag : kTable) {
    if (flag.name == name || std::ranges::find(flag.aliases, name) != flag.aliases.end()) {
      return &flag;
    }
  }
  return nullptr;
}

std::vector<std::string> all_flag_names() {
  std::vector<std::string> names = {"help", "version"};
  for (const FlagSpec& flag : kTable) {
    if (!flag.name.empty()) names.emplace_back(flag.name);
    for (const std::string_view alias : flag.aliases) {
      if (!alias.empty()) names.emplace_back(alias);
    }
  }
  return names;
}

std::string_view group_title(FlagGroup group) {
  switch (group) {
    case FlagGroup::kSharing: return "Resources and sharing";
    case FlagGroup::kNested: return "Nested clusters";
    case FlagGroup::kContainers: return "What a container gets";
    case FlagGroup::kCdi: return "CDI";
    case FlagGroup::kDriver: return "Driver and node";
    case FlagGroup::kHealth: return "Health";
    case FlagGroup::kAgent: return "The agent itself";
    case FlagGroup::kLogging: return "Logging";
    case FlagGroup::kWithoutEffect: return "Accepted without effect";
  }
  return "";
}

}  // namespace tranche
