// SPDX-License-Identifier: Apache-2.0
#include "programs/settings/flag_table.h"

#include "core/settings/settings.h"
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
     .help = "How the container runtime is told of a container's GPUs; any combination. envvar: "
             "NVIDIA_VISIBLE_DEVICES. volume-mounts: mounts below "
             "/var/run/nvidia-container-devices. cdi-annotations and cdi-cri: CDI names, by "
             "annotation or by the kubelet's own field."},
    {.name = "device-id-strategy",
     .key = "flags.plugin.deviceIDStrategy",
     .to = {word_field<kIdStrategies, &Settings::grant, &GrantOptions::ids>},
     .fallback = "uuid",
     .complaint = "invalid --device-id-strategy option: ",
     .help = "What GPUs are called towards the runtime: by uuid, or by the driver's index."},
    {.name = "pass-device-specs",
     .key = "flags.plugin.passDeviceSpecs",
     .to = {field<&Settings::grant, &GrantOptions::pass_device_specs>},
     .fallback = "false",
     .help = "Also hand the device nodes themselves to the kubelet. Needed with the kubelet's "
             "static CPU manager, which otherwise takes the GPUs away again."},
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
     .help = "Whether a channel that the node does not have is an error."},
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
     .help = "What the annotation key of cdi-annotations begins with."},
    {.name = "nvidia-cdi-hook-path",
     .aliases = {"nvidia-ctk-path"},
     .environment = {"NVIDIA_CDI_HOOK_PATH", "NVIDIA_CTK_PATH"},
     .key = "flags.plugin.nvidiaCTKPath",
     .to = {field<&Settings::cdi, &CdiOptions::hook_path>},
     .type = ValueType::kPath,
     .fallback = "/usr/bin/nvidia-ctk",
     .help = "The hook program on the host that CDI specifications name."},
    {.name = "cdi-toolkit-version",
     .type = ValueType::kText,
     .fallback = "auto",
     .help = "The version of NVIDIA's container toolkit on the host, such as 1.17.8: CDI "
             "specifications ask for no hook that it lacks. auto: read from the program of "
             "--nvidia-cdi-hook-path, where the agent can see it below the driver root."},
    {.name = "cdi-dir",
     .to = {field<&Settings::cdi, &CdiOptions::directory>},
     .type = ValueType::kPath,
     .fallback = "/var/run/cdi",
     .help = "Folder that CDI specifications are written to. The runtime must read it."},
    {.name = "cdi-feature-flags",
     .to = {field<&Settings::cdi, &CdiOptions::feature_flags>},
     .allowed = "enable-explicit-driver-libraries,disable-nvsandboxutils,"
                "disable-nvsandbox-utils,enable-coherent-annotations,disable-multiple-csv-devices,"
                "no-additional-gids-for-device-nodes,disable-ipc-discoverer",
     .complaint = "unknown CDI feature flag: ",
     .help = "Changes to how CDI specifications are made, by NVIDIA's names."},
    {.name = "cdi-disable-hooks",
     .to = {field<&Settings::cdi, &CdiOptions::disabled_hooks>},
     .allowed = "all,create-symlinks,enable-cuda-compat,update-ldcache,"
                "disable-device-node-modification,update-application-profile,chmod,"
                "apply-cuda-memory-limits",
     .complaint = "unknown CDI hook: ",
     .help = "Hooks that CDI specifications leave out; all leaves out every one."},
};

constexpr Option kDriverFlags[] = {
    {.name = "fail-on-init-error",
     .key = "flags.failOnInitError",
     .to = {field<&Settings::fail_on_init_error>},
     .fallback = "true",
     .help = "Whether the program ends when it cannot reach the driver at its start. With false it "
             "stays and tries again."},
    {.name = "device-discovery-strategy",
     .key = "flags.deviceDiscoveryStrategy",
     .type = ValueType::kChoice,
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
         "Where the host's driver root is mounted for this program. libnvidia-ml.so.1 is looked "
         "for below it first."},
    {.name = "host-root",
     .to = {field<&Settings::host_root>},
     .type = ValueType::kPath,
     .fallback = "/",
     .help = "Where this program finds the host's /proc, /sys and /dev."},
    {.name = "driver-call-timeout",
     .to = {field<&Settings::driver, &DriverOptions::call_patience>},
     .fallback = "10s",
     .help = "How long the driver's calls about one GPU may take together. After that the GPU is "
             "unhealthy until they return, and the others are looked at without it."},
};

constexpr Option kHealthFlags[] = {
    {.name = "health-check-interval",
     .key = "tranche.healthCheckInterval",
     .to = {field<&Settings::health, &HealthOptions::interval>},
     .fallback = "5s",
     .help = "How often GPUs are looked at when the driver reports no event. A duration such as "
             "500ms, 5s or 1m30s; from 100ms to 24h."},
    {.name = "",
     .environment = {"DP_DISABLE_HEALTHCHECKS"},
     .help = "XIDs (the driver's error numbers) that do not make a GPU unhealthy, besides 13, 31, "
             "43, 45, 68 and 109: a list of numbers, or all."},
    {.name = "",
     .environment = {"DP_ENABLE_HEALTHCHECKS"},
     .help = "XIDs that do make a GPU unhealthy, whatever the other variable and the default list "
             "say: a list of numbers, or all."},
    {.name = "",
     .environment = {"XID_CONFIG"},
     .help = "Google's variable, for the profile gcp: XIDs that make a GPU unhealthy besides those "
             "that do anyway, a list of numbers. 48 always does."},
};

constexpr Option kAgentFlags[] = {
    {.name = "config-file",
     .to = {field<&Settings::config_file>},
     .placeholder = "FILE",
     .help = "The configuration file, YAML or JSON. It is read again when it changes."},
    {.name = "node-name",
     .to = {field<&Settings::node_name>},
     .fallback_note = "the host's name",
     .help = "What the cluster calls this node; the commands print it. The chart sets it."},
    {.name = "kubelet-socket",
     .to = {field<&Settings::kubelet, &KubeletOptions::socket>},
     .type = ValueType::kPath,
     .fallback = "/var/lib/kubelet/device-plugins/kubelet.sock",
     .help = "The kubelet's registration socket. Our own sockets lie beside it. Empty: serve, but "
             "do not register."},
    {.name = "plugin-directory",
     .type = ValueType::kPath,
     .fallback_note = "the folder of --kubelet-socket; /device-plugin with deepomatic and gcp",
     .help = "The same by its folder: the socket is kubelet.sock in it. Not together with another "
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
     .help = "Where the kubelet says which pod has which share. Empty: it is not asked."},
    {.name = "kubelet-checkpoint",
     .to = {field<&Settings::kubelet, &KubeletOptions::checkpoint>},
     .type = ValueType::kPath,
     .fallback_note = "<folder of the kubelet socket>/kubelet_internal_checkpoint",
     .help = "The kubelet's own record of shares that it has given out; read, never written. "
             "Empty: it is not read."},
    {.name = "state-dir",
     .to = {field<&Settings::state_dir>},
     .type = ValueType::kPath,
     .fallback_note = "<folder of the kubelet socket>/tranche",
     .help = "Folder for what must outlive a restart: GPU numbers, known faults, sizes of granted "
             "shares, memory units; and the control socket. Keep it on the host's disk."},
};

constexpr Option kLoggingFlags[] = {
    {.name = "log-format",
     .key = "tranche.logFormat",
     .to = {word_field<kLogFormats, &Settings::log_format>},
     .fallback = "text",
     .complaint = "unknown log format: ",
     .help = "How log lines are written: for people, or as one JSON object each."},
    {.name = "v",
     .has_variable = false,
     .type = ValueType::kNumber,
     .fallback = "0",
     .help = "How much is logged, as glog counts it: 4 and above also logs what helps in finding a "
             "fault."},
};

constexpr auto kTable = joined(
    in_group("Resources and sharing", kSharingFlags), in_group("Nested clusters", kNestedFlags),
    in_group("What a container gets", kContainerFlags), in_group("CDI", kCdiFlags),
    in_group("Driver and node", kDriverFlags), in_group("Health", kHealthFlags),
    in_group("The agent itself", kAgentFlags), in_group("Logging", kLoggingFlags),
    in_group(kWithoutEffect, kForeignFlags));

}  // namespace

OptionTable flag_table() { return kTable; }

}  // namespace tranche::programs
