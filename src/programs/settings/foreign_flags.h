// SPDX-License-Identifier: Apache-2.0
//
// The part of the flag table that is accepted without effect, so that manifests
// of other programs need not change. Constant data; only flag_table.cc includes
// it.
#pragma once

#include "config/flag_table.h"

namespace tranche {

inline constexpr std::string_view kGlog = "A flag of glog. Logs always go to standard error.";
inline constexpr FlagSpec kGlogFlags[] = {
    {.name = "logtostderr",
     .type = ValueType::kBool,
     .group = FlagGroup::kWithoutEffect,
     .fallback = "true",
     .help = kGlog},
    {.name = "alsologtostderr",
     .type = ValueType::kBool,
     .group = FlagGroup::kWithoutEffect,
     .fallback = "false",
     .help = kGlog},
    {.name = "stderrthreshold", .group = FlagGroup::kWithoutEffect, .help = kGlog},
    {.name = "log_dir", .group = FlagGroup::kWithoutEffect, .help = kGlog},
    {.name = "vmodule", .group = FlagGroup::kWithoutEffect, .help = kGlog},
    {.name = "log_backtrace_at", .group = FlagGroup::kWithoutEffect, .help = kGlog},
};

inline constexpr std::string_view kHandshake =
    "A flag of GPUShare, for its scheduler extender. This version does not speak with it.";
inline constexpr std::string_view kNoHandshake =
    "this version asks neither the kubelet nor the API server for pods, and needs no address, "
    "certificate or token";
inline constexpr FlagSpec kGpushareFlags[] = {
    {.name = "health-check",
     .type = ValueType::kBool,
     .group = FlagGroup::kWithoutEffect,
     .fallback = "false",
     .help = "A flag of GPUShare. GPUs are always looked after here."},
    {.name = "query-kubelet",
     .type = ValueType::kBool,
     .group = FlagGroup::kWithoutEffect,
     .fallback = "false",
     .missed = kNoHandshake,
     .help = kHandshake},
    {.name = "kubelet-address",
     .group = FlagGroup::kWithoutEffect,
     .fallback = "0.0.0.0",
     .help = kHandshake},
    {.name = "kubelet-port",
     .type = ValueType::kNumber,
     .group = FlagGroup::kWithoutEffect,
     .fallback = "10250",
     .help = kHandshake},
    {.name = "client-cert", .group = FlagGroup::kWithoutEffect, .help = kHandshake},
    {.name = "client-key", .group = FlagGroup::kWithoutEffect, .help = kHandshake},
    {.name = "token", .group = FlagGroup::kWithoutEffect, .secret = true, .help = kHandshake},
    {.name = "timeout",
     .type = ValueType::kNumber,
     .group = FlagGroup::kWithoutEffect,
     .fallback = "10",
     .help = kHandshake},
};

inline constexpr std::string_view kGcpMetrics =
    "A flag of Google's plugin. This version has no metrics.";
inline constexpr std::string_view kNoGcpMetrics = "this version has no metrics";
inline constexpr FlagSpec kGcpFlags[] = {
    {.name = "enable-container-gpu-metrics",
     .type = ValueType::kBool,
     .group = FlagGroup::kWithoutEffect,
     .fallback = "false",
     .missed = kNoGcpMetrics,
     .help = kGcpMetrics},
    {.name = "gpu-metrics-port",
     .type = ValueType::kNumber,
     .group = FlagGroup::kWithoutEffect,
     .fallback = "2112",
     .help = kGcpMetrics},
    {.name = "gpu-metrics-collection-interval",
     .type = ValueType::kNumber,
     .group = FlagGroup::kWithoutEffect,
     .fallback = "30000",
     .help = kGcpMetrics},
    {.name = "enable-health-monitoring",
     .type = ValueType::kBool,
     .group = FlagGroup::kWithoutEffect,
     .fallback = "false",
     .help = "A flag of Google's plugin. GPUs are always looked after here."},
    {.name = "gpu-config",
     .group = FlagGroup::kWithoutEffect,
     .fallback = "/etc/nvidia/gpu_config.json",
     .missed = "the file is not read; say how GPUs are shared in tranche.policies of --config-file",
     .help = "A flag of Google's plugin: its file about partitions and sharing. Not read here; "
             "tranche.policies says the same."},
    {.name = "gpu-fraction-divisor-file",
     .group = FlagGroup::kWithoutEffect,
     .missed = "the file is not read; say how GPUs are cut in tranche.policies of --config-file",
     .help = "A flag of Google's plugin. Not read here; tranche.policies says how GPUs are cut."},
    {.name = "host-vulkan-icd-path",
     .group = FlagGroup::kWithoutEffect,
     .missed = "containers get the folder of --host-path and no other",
     .help = "A flag of Google's plugin. Containers get the folder of --host-path and no other."},
    {.name = "publish-driver-version",
     .type = ValueType::kBool,
     .group = FlagGroup::kWithoutEffect,
     .fallback = "false",
     .missed = "this version writes no labels or annotations of nodes",
     .help = "A flag of Google's plugin. This version writes no labels or annotations of nodes."},
};

}  // namespace tranche
