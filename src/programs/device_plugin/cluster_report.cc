// SPDX-License-Identifier: Apache-2.0
#include "programs/device_plugin/cluster_report.h"

#include "core/report/extended_counts.h"
#include "core/report/node_condition.h"
#include "formats/gpu_node_json.h"

namespace tranche::programs {

NodeReport cluster_report(const Wanted& wanted, const Ledger* ledger,
                          const std::string& ledger_problem, const AgentReport& agent,
                          const Settings& settings) {
  const ClusterOptions& options = settings.cluster;
  NodeReport report;
  if (options.gpu_node) {
    report.gpu_node =
        gpu_node_status(gpu_node(wanted.inventory, wanted.catalog, ledger, ledger_problem, agent));
  }
  report.labels = settings.features.labels == LabelOutput::kApi ? wanted.labels : NodeLabels();
  if (!options.condition.empty()) {
    report.condition_type = options.condition;
    report.condition = gpus_condition(wanted.inventory);
  }
  if (!options.extended_resources.empty()) {
    report.extended_resources =
        extended_counts(options.extended_resources, wanted.inventory, wanted.catalog).counts;
  }
  return report;
}

bool needs_api_server(const Settings& settings) {
  const ClusterOptions& options = settings.cluster;
  return options.gpu_node || options.events || !options.condition.empty() ||
         !options.extended_resources.empty() || settings.features.labels == LabelOutput::kApi;
}

}  // namespace tranche::programs
