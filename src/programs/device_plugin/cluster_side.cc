// SPDX-License-Identifier: Apache-2.0
#include "programs/device_plugin/cluster_side.h"

#include <ctime>
#include <string>
#include <utility>

#include "node/driver/kernel_files.h"
#include "programs/device_plugin/cluster_report.h"
#include "programs/device_plugin/status_cells.h"
#include "programs/device_plugin/version.h"

namespace tranche::programs {

ClusterSide::ClusterSide(std::unique_ptr<ApiLink> link, MakeLink make_link)
    : make_link_(std::move(make_link)),
      agent_{.version = kVersion, .started = utc(std::time(nullptr)), .config_generation = 1},
      link_(std::move(link)) {}

void ClusterSide::report(const Wanted& wanted, const Ledger* ledger,
                         const std::string& ledger_problem, const Settings& settings) {
  if (link_ == nullptr) link_ = make_link_(settings);
  if (link_ == nullptr) return;
  writes_events_ = settings.cluster.events;
  agent_.config_file = settings.config_file;
  const Result<std::string> boot = KernelFiles(settings.host_root).boot_id();
  agent_.boot_id = boot ? *boot : "";
  link_->reporter().report(cluster_report(wanted, ledger, ledger_problem, agent_, settings));
  for (const NodeEvent& event : events_.take(wanted.inventory, wanted.catalog, ledger)) {
    note(event, settings);
  }
}

void ClusterSide::configuration_taken(const Settings& settings) {
  ++agent_.config_generation;
  agent_.last_refusal.clear();
  note(configuration_reloaded(settings.config_file), settings);
}

void ClusterSide::configuration_refused(const Settings& settings, const std::string& reason) {
  ++agent_.config_refused;
  agent_.last_refusal = reason;
  note(core::configuration_refused(settings.config_file, reason), settings);
}

void ClusterSide::allocation_refused(const std::string& resource, const std::string& reason) {
  if (!writes_events_) return;
  link_->reporter().note(core::allocation_refused(resource, reason));
}

void ClusterSide::note(const NodeEvent& event, const Settings& settings) {
  if (link_ != nullptr && settings.cluster.events) link_->reporter().note(event);
}

}  // namespace tranche::programs
