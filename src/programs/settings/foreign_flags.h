// SPDX-License-Identifier: Apache-2.0
//
// Flags that are accepted without effect, so that manifests of other programs need not change.
// Constant data; only flag_table.cc includes it.
#pragma once

#include "programs/settings/flag_table.h"

namespace tranche::programs {

inline constexpr std::string_view kGlog = "A flag of glog. Logs always go to standard error.";
inline constexpr std::string_view kHandshake =
    "A flag of GPUShare, for its scheduler extender. This version does not use it.";
inline constexpr std::string_view kNoHandshake =
    "this version asks neither the kubelet nor the API server for pods, and needs no address, "
    "certificate or token";
inline constexpr std::string_view kGcpMetrics =
    "A flag of Google's plugin. This version has no metrics.";
inline constexpr std::string_view kNoGcpMetrics = "this version has no metrics";

inline constexpr Option kForeignFlags[] = {
    {.name = "logtostderr", .type = ValueType::kBool, .fallback = "true", .help = kGlog},
    {.name = "alsologtostderr", .type = ValueType::kBool, .fallback = "false", .help = kGlog},
    {.name = "stderrthreshold", .help = kGlog},
    {.name = "log_dir", .help = kGlog},
    {.name = "vmodule", .help = kGlog},
    {.name = "log_backtrace_at", .help = kGlog},
    {.name = "health-check",
     .type = ValueType::kBool,
     .fallback = "false",
     .help = "A flag of GPUShare. GPU health is always checked here."},
    {.name = "query-kubelet",
     .type = ValueType::kBool,
     .fallback = "false",
     .missed = kNoHandshake,
     .help = kHandshake},
    {.name = "kubelet-address", .fallback = "0.0.0.0", .help = kHandshake},
    {.name = "kubelet-port", .type = ValueType::kNumber, .fallback = "10250", .help = kHandshake},
    {.name = "client-cert", .help = kHandshake},
    {.name = "client-key", .help = kHandshake},
    {.name = "token", .secret = true, .help = kHandshake},
    {.name = "timeout", .type = ValueType::kNumber, .fallback = "10", .help = kHandshake},
    {.name = "enable-container-gpu-metrics",
     .type = ValueType::kBool,
     .fallback = "false",
     .missed = kNoGcpMetrics,
     .help = kGcpMetrics},
    {.name = "gpu-metrics-port",
     .type = ValueType::kNumber,
     .fallback = "2112",
     .help = kGcpMetrics},
    {.name = "gpu-metrics-collection-interval",
     .type = ValueType::kNumber,
     .fallback = "30000",
     .help = kGcpMetrics},
    {.name = "enable-health-monitoring",
     .type = ValueType::kBool,
     .fallback = "false",
     .help = "A flag of Google's plugin. GPU health is always checked here."},
    {.name = "gpu-config",
     .fallback = "/etc/nvidia/gpu_config.json",
     .missed = "the file is not read; set tranche.policies in --config-file",
     .help = "A flag of Google's plugin: its file about partitions and sharing. Not read here; use "
             "tranche.policies."},
    {.name = "gpu-fraction-divisor-file",
     .missed = "the file is not read; set tranche.policies in --config-file",
     .help = "A flag of Google's plugin. Not read here; use tranche.policies."},
    {.name = "publish-driver-version",
     .type = ValueType::kBool,
     .fallback = "false",
     .missed =
         "Google's label is not written; --node-labels writes NVIDIA's labels of the driver's "
         "version",
     .help = "A flag of Google's plugin. Its label is not written; --node-labels writes NVIDIA's "
             "labels of the driver's version."},
};

}  // namespace tranche::programs
