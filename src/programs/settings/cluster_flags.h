// SPDX-License-Identifier: Apache-2.0
//
// Flags for what the agent does at the API server. Constant data; only flag_table.cc includes it.
#pragma once

#include "core/settings/settings.h"
#include "programs/settings/flag_table.h"

namespace tranche::programs {

inline constexpr Option kClusterFlags[] = {
    {.name = "gpu-node",
     .key = "tranche.cluster.gpuNode",
     .to = {field<&Settings::cluster, &ClusterOptions::gpu_node>},
     .fallback = "false",
     .help = "Publish this node's GPUs, resources and holders as an object GpuNode "
             "(gpunodes.gpu.tranche.dev) with the node's name. Needs the CRD."},
    {.name = "node-events",
     .key = "tranche.cluster.events",
     .to = {field<&Settings::cluster, &ClusterOptions::events>},
     .fallback = "false",
     .help = "Write faults, recoveries, refused allocations and refused configurations as events "
             "of the Node and, where they are known, of the pods."},
    {.name = "node-condition",
     .key = "tranche.cluster.condition",
     .to = {field<&Settings::cluster, &ClusterOptions::condition>},
     .placeholder = "TYPE",
     .help = "Type of a condition in the Node's status that is False while a GPU is unhealthy and "
             "Unknown while the driver cannot be read, for controllers that repair nodes; such as "
             "GpusHealthy. Empty: none."},
    {.name = "extended-resources",
     .key = "tranche.cluster.extendedResources",
     .type = ValueType::kTextList,
     .placeholder = "NAME=COUNT,...",
     .help = "Extended resources that the agent writes into the Node's status itself, and puts "
             "back when they vanish: NAME=COUNT, where COUNT is a number, gpus (all GPUs of the "
             "node) or healthy-gpus."},
    {.name = "kubeconfig",
     .to = {field<&Settings::cluster, &ClusterOptions::kubeconfig>},
     .type = ValueType::kPath,
     .help = "The kubeconfig for the API server. Empty, or a file that does not exist: the pod's "
             "service account."},
};

}  // namespace tranche::programs
