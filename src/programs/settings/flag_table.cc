// SPDX-License-Identifier: Apache-2.0
#include "programs/settings/flag_table.h"

#include "core/settings/settings.h"
#include "programs/settings/cluster_flags.h"
#include "programs/settings/config_flags.h"
#include "programs/settings/feature_flags.h"
#include "programs/settings/foreign_flags.h"
#include "programs/settings/nested_flags.h"
#include "programs/settings/sharing_flags.h"

namespace tranche::programs {
namespace {

constexpr Word<DeviceIdStrategy> kIdStrategies[] = {{"uuid", DeviceIdStrategy::kUuid},
                                                    {"index", DeviceIdStrategy::kIndex}};
constexpr Word<LogFormat> kLogFormats[] = {{"text", LogFormat::kText}, {"json", LogFormat::kJson}};

constexpr Option kContainerFlags[] = {
    {.name = "device-list-strategy",
     .key = "flags.plugin.deviceListStrategy",
     .type = ValueType::kTextList,
     .fallback = "envvar",
     .allowed = "envvar,volume-mounts,cdi-annotations,cdi-cri",
     .complaint = "invalid --device-list-strategy option: invalid strategy: ",
     .help = "How the container runtime learns a container's GPUs; any combination. envvar: "
             "NVIDIA_VISIBLE_DEVICES. volume-mounts: mounts below "
             "/var/run/nvidia-container-devices. cdi-annotations and cdi-cri: CDI names, by "
             "annotation or by the kubelet's own field."},
    {.name = "device-id-strategy",
     .key = "flags.plugin.deviceIDStrategy",
     .to = {word_field<kIdStrategies, &Settings::grant, &GrantOptions::ids>},
     .fallback = "uuid",
     .complaint = "invalid --device-id-strategy option: ",
     .help = "How GPUs are named for the runtime: by uuid, or by the driver's index."},
    {.name = "pass-device-specs",
     .key = "flags.plugin.passDeviceSpecs",
     .to = {field<&Settings::grant, &GrantOptions::pass_device_specs>},
     .fallback = "false",
     .help = "Also pass the device nodes to the kubelet. Needed with the kubelet's static CPU "
             "manager, which otherwise removes access to the GPUs."},
    {.name = "gdrcopy-enabled",
     .key = "flags.gdrcopyEnabled",
     .to = {field<&Settings::grant, &GrantOptions::gdrcopy>},
     .fallback = "false",
     .help = "Give containers GDRCopy (/dev/gdrdrv)."},
    {.name = "gds-enabled",
     .key = "flags.gdsEnabled",
     .to = {field<&Settings::grant, &GrantOptions::gds>},
     .fallback = "false",
     .help = "Give containers GPUDirect Storage (/dev/nvidia-fs*)."},
    {.name = "mofed-enabled",
     .key = "flags.mofedEnabled",
     .to = {field<&Settings::grant, &GrantOptions::mofed>},
     .fallback = "false",
     .help = "Give containers the InfiniBand devices of Mellanox OFED (/dev/infiniband)."},
    {.name = "imex-channel-ids",
     .key = "imex.channelIDs",
     .type = ValueType::kNumberList,
     .help = "IMEX channels that every GPU container gets: none, or channel 0."},
    {.name = "imex-required",
     .key = "imex.required",
     .to = {field<&Settings::grant, &GrantOptions::imex_required>},
     .fallback = "false",
     .help = "Whether a channel that is missing on the node is an error."},
    {.name = "host-path",
     .key = "tranche.hostPath",
     .type = ValueType::kPath,
     .help = "Folder on the host with the driver's libraries, mounted read-only into every GPU "
             "container. For nodes without NVIDIA's container runtime. Off unless given."},
    {.name = "container-path",
     .key = "tranche.containerPath",
     .type = ValueType::kPath,
     .fallback_note = "/usr/local/nvidia when --host-path is given",
     .help = "Where containers find the folder of --host-path. Only together with it."},
    {.name = "host-vulkan-icd-path",
     .type = ValueType::kPath,
     .help = "Folder on the host with the driver's entry for the Vulkan loader (icd.d), mounted "
             "read-only into every GPU container. Off unless given; with gcp "
             "/home/kubernetes/bin/nvidia/vulkan/icd.d."},
    {.name = "container-vulkan-icd-path",
     .type = ValueType::kPath,
     .fallback_note = "/etc/vulkan/icd.d when --host-vulkan-icd-path is given",
     .help = "Where containers find the folder of --host-vulkan-icd-path. Only together with it."},
};

constexpr Option kCdiFlags[] = {
    {.name = "cdi-annotation-prefix",
     .key = "flags.plugin.cdiAnnotationPrefix",
     .to = {field<&Settings::grant, &GrantOptions::cdi_annotation_prefix>},
     .fallback = "cdi.k8s.io/",
     .help = "Prefix of the annotation key of cdi-annotations."},
    {.name = "nvidia-cdi-hook-path",
     .aliases = {"nvidia-ctk-path"},
     .environment = {"NVIDIA_CDI_HOOK_PATH", "NVIDIA_CTK_PATH"},
     .key = "flags.plugin.nvidiaCTKPath",
     .to = {field<&Settings::cdi, &CdiOptions::hook_path>},
     .type = ValueType::kPath,
     .fallback = "/usr/bin/nvidia-ctk",
     .help = "Path on the host of the hook program for CDI specifications."},
    {.name = "cdi-toolkit-version",
     .type = ValueType::kText,
     .fallback = "auto",
     .help = "The version of NVIDIA's container toolkit on the host, such as 1.17.8: CDI "
             "specifications use no hook that it lacks. auto: read from the program of "
             "--nvidia-cdi-hook-path, if the agent can see it below the driver root."},
    {.name = "cdi-dir",
     .to = {field<&Settings::cdi, &CdiOptions::directory>},
     .type = ValueType::kPath,
     .fallback = "/var/run/cdi",
     .help = "Folder for CDI specifications. The runtime must read it."},
    {.name = "cdi-feature-flags",
     .to = {field<&Settings::cdi, &CdiOptions::feature_flags>},
     .allowed = "enable-explicit-driver-libraries,disable-nvsandboxutils,"
                "disable-nvsandbox-utils,enable-coherent-annotations,disable-multiple-csv-devices,"
                "no-additional-gids-for-device-nodes,disable-ipc-discoverer",
     .complaint = "unknown CDI feature flag: ",
     .help = "Options for generating CDI specifications, with NVIDIA's names."},
    {.name = "cdi-disable-hooks",
     .to = {field<&Settings::cdi, &CdiOptions::disabled_hooks>},
     .allowed = "all,create-symlinks,enable-cuda-compat,update-ldcache,"
                "disable-device-node-modification,update-application-profile,chmod,"
                "apply-cuda-memory-limits",
     .complaint = "unknown CDI hook: ",
     .help = "Hooks that CDI specifications do not use; all disables every one."},
};

constexpr Option kDriverFlags[] = {
    {.name = "fail-on-init-error",
     .key = "flags.failOnInitError",
     .to = {field<&Settings::fail_on_init_error>},
     .fallback = "true",
     .help = "Whether the program exits if it cannot reach the driver at its start. With false it "
             "keeps trying."},
    {.name = "device-discovery-strategy",
     .key = "flags.deviceDiscoveryStrategy",
     .type = ValueType::kChoice,
     .fallback = "auto",
     .allowed = "auto,nvml",
     .refused = "tegra,wsl",
     .complaint = "invalid --device-discovery-strategy option ",
     .help = "How GPUs are found. auto and nvml both use the driver's management library. tegra "
             "and wsl are refused: this version does not support them."},
    {.name = "driver-root",
     .aliases = {"nvidia-driver-root"},
     .environment = {"NVIDIA_DRIVER_ROOT"},
     .key = "flags.nvidiaDriverRoot",
     .to = {field<&Settings::cdi, &CdiOptions::driver_root>},
     .type = ValueType::kPath,
     .fallback = "/",
     .help = "Root of the driver's files on the host."},
    {.name = "dev-root",
     .aliases = {"nvidia-dev-root"},
     .environment = {"NVIDIA_DEV_ROOT"},
     .key = "flags.nvidiaDevRoot",
     .to = {field<&Settings::grant, &GrantOptions::dev_root>,
            field<&Settings::cdi, &CdiOptions::dev_root>},
     .type = ValueType::kPath,
     .fallback_note = "the driver root",
     .help = "Root of the device nodes on the host."},
    {.name = "driver-root-ctr-path",
     .aliases = {"container-driver-root"},
     .environment = {"DRIVER_ROOT_CTR_PATH", "CONTAINER_DRIVER_ROOT"},
     .key = "flags.plugin.containerDriverRoot",
     .to = {field<&Settings::driver, &DriverOptions::container_root>,
            field<&Settings::cdi, &CdiOptions::container_driver_root>},
     .type = ValueType::kPath,
     .fallback = "/driver-root",
     .help =
         "Mount of the host's driver root for this program. libnvidia-ml.so.1 is searched below it "
         "first."},
    {.name = "host-root",
     .to = {field<&Settings::host_root>},
     .type = ValueType::kPath,
     .fallback = "/",
     .help = "Where this program finds the host's /proc, /sys and /dev."},
    {.name = "driver-call-timeout",
     .to = {field<&Settings::driver, &DriverOptions::call_patience>},
     .fallback = "10s",
     .help = "Time limit for all driver calls for one GPU. After that the GPU is unhealthy until "
             "they return; the others are still read."},
};

constexpr Option kHealthFlags[] = {
    {.name = "health-check-interval",
     .key = "tranche.healthCheckInterval",
     .to = {field<&Settings::health, &HealthOptions::interval>},
     .fallback = "5s",
     .help = "How often GPUs are checked when the driver reports no event. A duration such as "
             "500ms, 5s or 1m30s; from 100ms to 24h."},
    {.name = "",
     .environment = {"DP_DISABLE_HEALTHCHECKS"},
     .help = "XIDs (the driver's error numbers) that do not make a GPU unhealthy, besides 13, 31, "
             "43, 45, 68 and 109: a list of numbers, or all."},
    {.name = "",
     .environment = {"DP_ENABLE_HEALTHCHECKS"},
     .help = "XIDs that make a GPU unhealthy, regardless of the other variable and the default "
             "list: a list of numbers, or all."},
    {.name = "",
     .environment = {"XID_CONFIG"},
     .help = "Google's variable, for the profile gcp: additional XIDs that make a GPU unhealthy, a "
             "list of numbers. 48 always does."},
};

constexpr Option kAgentFlags[] = {
    {.name = "config-file",
     .to = {field<&Settings::config_file>},
     .placeholder = "FILE",
     .help = "The configuration file, YAML or JSON. It is read again when it changes."},
    {.name = "node-name",
     .to = {field<&Settings::node_name>},
     .fallback_note = "the host's name",
     .help = "Name of this node in the cluster; the commands print it. The chart sets it."},
    {.name = "kubelet-socket",
     .to = {field<&Settings::kubelet, &KubeletOptions::socket>},
     .type = ValueType::kPath,
     .fallback = "/var/lib/kubelet/device-plugins/kubelet.sock",
     .help = "The kubelet's registration socket. The agent's sockets are beside it. Empty: serve, "
             "but do not register."},
    {.name = "plugin-directory",
     .type = ValueType::kPath,
     .fallback_note = "the folder of --kubelet-socket; /device-plugin with deepomatic and gcp",
     .help = "Folder of --kubelet-socket, in which it is kubelet.sock. Not together with another "
             "--kubelet-socket."},
    {.name = "enable-flock-wait",
     .type = ValueType::kBool,
     .fallback = "false",
     .help = "Wait at the start until no other agent on the node holds the lock "
             "tpu-device-plugin.lock in the plugin directory, and hold it while running, as "
             "Google's plugin does. For updates in which the new pod starts before the old one "
             "has ended."},
    {.name = "pod-resources-socket",
     .to = {field<&Settings::kubelet, &KubeletOptions::pod_resources_socket>},
     .type = ValueType::kPath,
     .fallback = "/var/lib/kubelet/pod-resources/kubelet.sock",
     .help = "Socket of the kubelet's pod-resources service, which lists the shares of each pod. "
             "Empty: not used."},
    {.name = "kubelet-checkpoint",
     .to = {field<&Settings::kubelet, &KubeletOptions::checkpoint>},
     .type = ValueType::kPath,
     .fallback_note = "<folder of the kubelet socket>/kubelet_internal_checkpoint",
     .help = "The kubelet's own record of allocated shares; read, never written. Empty: not read."},
    {.name = "state-dir",
     .to = {field<&Settings::state_dir>},
     .type = ValueType::kPath,
     .fallback_note = "<folder of the kubelet socket>/tranche",
     .help =
         "Folder for state that survives a restart: GPU numbers, known faults, sizes of granted "
         "shares, memory units; and the control socket. Keep it on the host's disk."},
};

constexpr Option kLoggingFlags[] = {
    {.name = "log-format",
     .key = "tranche.logFormat",
     .to = {word_field<kLogFormats, &Settings::log_format>},
     .fallback = "text",
     .complaint = "unknown log format: ",
     .help = "Format of log lines: text for people, or one JSON object each."},
    {.name = "v",
     .has_variable = false,
     .type = ValueType::kNumber,
     .fallback = "0",
     .help = "Verbosity of the log, as in glog: 4 and above adds debug messages."},
};

constexpr auto kTable = joined(
    in_group("Resources and sharing", kSharingFlags), in_group("Nested clusters", kNestedFlags),
    in_group("What a container gets", kContainerFlags), in_group("CDI", kCdiFlags),
    in_group("Driver and node", kDriverFlags), in_group("Health", kHealthFlags),
    in_group("The cluster", kClusterFlags), in_group("Node labels", kFeatureFlags),
    in_group("Configuration by node label", kConfigFlags),
    in_group("The agent itself", kAgentFlags), in_group("Logging", kLoggingFlags),
    in_group(kWithoutEffect, kForeignFlags));

}  // namespace

OptionTable flag_table() { return kTable; }

}  // namespace tranche::programs
