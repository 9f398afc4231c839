// SPDX-License-Identifier: Apache-2.0
//
// What the cluster is to see of this node, from the plan. Pure.
#pragma once

#include <string>

#include "core/plan/plan.h"
#include "core/report/gpu_node.h"
#include "core/settings/settings.h"
#include "node/api_server/node_report.h"

namespace tranche::programs {

// `ledger` null: it is not known what pods hold, because of `ledger_problem`. Only the parts that
// the settings ask for are made.
NodeReport cluster_report(const Wanted& wanted, const Ledger* ledger,
                          const std::string& ledger_problem, const AgentReport& agent,
                          const Settings& settings);

// Whether these settings need the API server.
bool needs_api_server(const Settings& settings);

}  // namespace tranche::programs
