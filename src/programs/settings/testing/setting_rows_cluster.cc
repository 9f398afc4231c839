// SPDX-License-Identifier: Apache-2.0
#include "programs/settings/testing/setting_rows.h"

namespace tranche::programs::testing {

std::vector<SettingRow> cluster_rows() {
  return {
      {{"gpu-node"},
       {"GPU_NODE"},
       "tranche.cluster.gpuNode",
       "false",
       "true",
       "false",
       "true",
       "x",
       [](Settings& s) { s.cluster.gpu_node = true; }},
      {{"node-events"},
       {"NODE_EVENTS"},
       "tranche.cluster.events",
       "false",
       "true",
       "false",
       "true",
       "x",
       [](Settings& s) { s.cluster.events = true; }},
      {{"node-condition"},
       {"NODE_CONDITION"},
       "tranche.cluster.condition",
       "",
       "GpusHealthy",
       "x",
       "GpusHealthy",
       "two words",
       [](Settings& s) { s.cluster.condition = "GpusHealthy"; }},
      {{"extended-resources"},
       {"EXTENDED_RESOURCES"},
       "tranche.cluster.extendedResources",
       "",
       "aliyun.com/gpu-count=gpus,example.com/dongle=4",
       "a.b/c=1",
       "[aliyun.com/gpu-count=gpus, example.com/dongle=4]",
       "gpu-count",
       [](Settings& s) {
         s.cluster.extended_resources = {{"aliyun.com/gpu-count", CountedGpus::kAll},
                                         {"example.com/dongle", std::uint64_t{4}}};
       }},
      {{"kubeconfig"},
       {"KUBECONFIG"},
       "",
       "",
       "/etc/tranche/kubeconfig",
       "/x",
       "",
       "kubeconfig",
       [](Settings& s) { s.cluster.kubeconfig = "/etc/tranche/kubeconfig"; }},
  };
}

}  // namespace tranche::programs::testing
