// SPDX-License-Identifier: Apache-2.0
//
// The agent's wiring to the API server: reports each plan, and notes events. Owns the link, which
// is made when settings first need one.
//
// Belongs to the main thread, except for allocation_refused().
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "core/plan/plan.h"
#include "core/report/gpu_node.h"
#include "core/report/node_events.h"
#include "core/settings/settings.h"
#include "programs/device_plugin/api_link.h"

namespace tranche::programs {

class ClusterSide {
 public:
  // Null: these settings need no link.
  using MakeLink = std::function<std::unique_ptr<ApiLink>(const Settings&)>;

  // `link` may be null.
  ClusterSide(std::unique_ptr<ApiLink> link, MakeLink make_link);

  // `ledger` null: it is not known what pods hold.
  void report(const Wanted& wanted, const Ledger* ledger, const std::string& ledger_problem,
              const Settings& settings);
  // The configuration in force, of several, and that none is refused; empty: there is one.
  void set_configuration_name(const std::string& name) {
    agent_.config_name = name;
    agent_.last_refusal.clear();
  }
  void configuration_taken(const Settings& settings);
  void configuration_refused(const Settings& settings, const std::string& reason);
  // From any thread.
  void allocation_refused(const std::string& resource, const std::string& reason);

 private:
  void note(const NodeEvent& event, const Settings& settings);

  const MakeLink make_link_;
  AgentReport agent_;
  InventoryEvents events_;
  std::unique_ptr<ApiLink> link_;  // once there, it stays
  // Set after link_, so that another thread that sees it may use the link.
  std::atomic<bool> writes_events_{false};
};

}  // namespace tranche::programs
