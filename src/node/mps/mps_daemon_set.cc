// SPDX-License-Identifier: Apache-2.0
#include "node/mps/mps_daemon_set.h"

#include <utility>

#include "os/files.h"

namespace tranche::node {

MpsDaemonSet::MpsDaemonSet(const std::string& driver_root, ComputeModeDriver modes,
                           std::function<void()> changed, const Log& log)
    : modes_(std::move(modes)), changed_(std::move(changed)), log_(log) {
  if (path_exists(driver_root)) places_.driver_root = driver_root;
}

std::string MpsDaemonSet::no_programs() const {
  const Result<DriverPrograms> programs = find_programs(places_);
  return programs ? std::string() : programs.error().message;
}

void MpsDaemonSet::apply(MpsPlan plan) {
  if (!supervisor_) {
    // Daemons of an earlier agent may still run there and have to be ended.
    const bool is_empty = plan.daemons.empty() && plan.external.empty() && plan.refused.empty();
    if (is_empty && !path_exists(plan.directory)) return;
    supervisor_ = std::make_unique<MpsSupervisor>(places_, MpsTimings{}, modes_, log_);
    supervisor_->on_report(changed_);
  }
  supervisor_->set_plan(std::move(plan));
}

MpsReport MpsDaemonSet::report() const {
  return supervisor_ ? *supervisor_->reports().get().value : MpsReport{};
}

}  // namespace tranche::node
