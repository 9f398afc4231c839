// SPDX-License-Identifier: Apache-2.0
#include "node/mps/supervisor.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/path.h"
#include "base/text.h"
#include "node/mps/control_program.h"
#include "node/mps/folder_mark.h"
#include "node/mps/server_link.h"
#include "node/mps/shared_memory.h"
#include "os/files.h"

namespace tranche::node {
namespace {

// Interval of checks of other programs' daemons and of our mounts.
constexpr std::chrono::seconds kLookElsewhere{2};
constexpr std::chrono::seconds kLookAtMounts{10};
// File times come from a clock that lags a little.
constexpr std::chrono::seconds kClockLag{1};
constexpr const char* kBin = "bin";

std::string real_path_of(const std::string& program) {
  std::error_code error;
  const std::string path = std::filesystem::canonical(program, error).string();
  return error ? program : path;
}

// Whether the plans are for the same daemon: limits can change while it runs.
bool is_same_daemon(MpsDaemonPlan a, const MpsDaemonPlan& b) {
  a.limits = b.limits;
  a.unheld = b.unheld;
  return a == b;
}

// Interval of checks for changes without events; empty: none needed.
std::optional<std::chrono::seconds> between_looks(const std::optional<MpsPlan>& plan) {
  if (plan && !plan->external.empty()) return kLookElsewhere;
  const bool mounts = plan && std::ranges::any_of(plan->daemons, &MpsDaemonPlan::shared_memory);
  return mounts ? std::optional(kLookAtMounts) : std::nullopt;
}

}  // namespace

MpsSupervisor::MpsSupervisor(const MpsPlaces& places, MpsTimings timings,
                             ComputeModeDriver compute_mode, const Log& log)
    : places_{places.driver_root, real_path_of(places.self), places.nvidia_root,
              places.host_mounts},
      timings_(timings),
      compute_mode_(std::move(compute_mode)),
      log_(log),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

MpsSupervisor::~MpsSupervisor() {
  thread_.request_stop();
  thread_.join();
  // Abandoned daemons may still report changes, so they end before the other members.
  daemons_.clear();
}

void MpsSupervisor::set_plan(MpsPlan plan) {
  {
    const std::lock_guard lock(mutex_);
    wanted_ = std::move(plan);
    wanted_at_ = std::chrono::system_clock::now();
    has_news_ = true;
    idle_ = false;
  }
  changed_.notify_all();
}

void MpsSupervisor::stop() {
  std::unique_lock lock(mutex_);
  if (!wanted_) return;
  wanted_->daemons.clear();
  has_news_ = true;
  idle_ = false;
  changed_.notify_all();
  changed_.wait(lock, [&] { return idle_; });
}

void MpsSupervisor::wake() {
  {
    const std::lock_guard lock(mutex_);
    has_news_ = true;
  }
  changed_.notify_all();
}

void MpsSupervisor::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::optional<MpsPlan> plan;
    std::chrono::system_clock::time_point wanted_at;
    bool needs_plan = false;
    {
      std::unique_lock lock(mutex_);
      const auto has_news = [this] { return has_news_; };
      if (const auto pause = has_younger_ ? kClockLag : between_looks(wanted_)) {
        changed_.wait_for(lock, stop, *pause, has_news);
      } else {
        changed_.wait(lock, stop, has_news);
      }
      needs_plan = has_younger_ && !has_news_;
      has_news_ = false;
      plan = wanted_;
      wanted_at = wanted_at_;
    }
    if (!plan || stop.stop_requested()) continue;
    if (needs_plan && on_report_) on_report_();
    reconcile(*plan);
    empty_unheld_memory(*plan, wanted_at);
    publish(*plan);
    {
      const std::lock_guard lock(mutex_);
      idle_ = daemons_.empty() && wanted_ == plan;
    }
    changed_.notify_all();
  }
}

void MpsSupervisor::reconcile(const MpsPlan& plan) {
  std::erase_if(daemons_, [](const auto& entry) {
    return entry.second->status().state == MpsState::kStopped;
  });
  drain_leftovers(plan);
  for (const auto& [name, daemon] : daemons_) {
    const auto wanted = std::ranges::find(plan.daemons, name, &MpsDaemonPlan::name);
    const MpsDaemonPlan has = daemon->status().plan;
    if (wanted != plan.daemons.end() && is_same_daemon(*wanted, has)) {
      if (wanted->limits != has.limits) daemon->set_limits(wanted->limits);
    } else {
      // A daemon with a changed plan starts again after this one has ended.
      daemon->drain();
    }
  }
  for (const MpsDaemonPlan& wanted : plan.daemons) {
    if (!daemons_.contains(wanted.name)) start(wanted, MpsDaemon::Goal::kRun);
  }
  for (const auto& [name, daemon] : daemons_) daemon->set_rules(plan.rules);
  if (!daemons_.empty()) return;
  // Also those of an earlier agent.
  if (!plan.directory.empty()) bins_.insert(fmt::format("{}/{}", plan.directory, kBin));
  for (const std::string& bin : bins_) remove_server_link(bin, places_.self);
  bins_.clear();
}

// Drains an earlier agent's daemons that are not in the plan.
void MpsSupervisor::drain_leftovers(const MpsPlan& plan) {
  if (plan.directory.empty() || leftovers_checked_ == plan.directory) return;
  leftovers_checked_ = plan.directory;
  const Result<std::vector<std::string>> names = list_directory(plan.directory);
  if (!names) return;
  std::vector<std::string> foreign;
  for (const std::string& name : *names) {
    const MpsDaemonPlan left{.name = name, .folder = fmt::format("{}/{}", plan.directory, name)};
    const auto wanted = std::ranges::find(plan.daemons, name, &MpsDaemonPlan::name);
    if (wanted != plan.daemons.end()) continue;
    const FolderUse use = name == kBin ? FolderUse::kServerLink : FolderUse::kDaemon;
    if (!open_own_folder(left.folder, use, places_.self)) {
      foreign.push_back(name);
    } else if (use == FolderUse::kDaemon) {
      start(left, MpsDaemon::Goal::kDrain);
    }
  }
  if (foreign.empty()) return;
  log_.warning("leaving files in the directory for MPS daemons alone, because they are not ours",
               {{"directory", plan.directory}, {"names", join(foreign, " ")}});
}

void MpsSupervisor::start(const MpsDaemonPlan& plan, MpsDaemon::Goal goal) {
  const std::string bin = fmt::format("{}/{}", parent_of(plan.folder), kBin);
  bins_.insert(bin);
  daemons_[plan.name] = std::make_unique<MpsDaemon>(
      plan,
      MpsDaemon::Surroundings{places_, timings_, bin, compute_mode_, &log_, [this] { wake(); }},
      goal);
}

// So that no pod finds the files of another.
void MpsSupervisor::empty_unheld_memory(const MpsPlan& plan,
                                        std::chrono::system_clock::time_point wanted_at) {
  has_younger_ = false;
  for (const MpsDaemonPlan& daemon : plan.daemons) {
    if (!daemon.shared_memory) continue;
    if (!daemon.unheld) emptied_.erase(daemon.name);
    if (!daemon.unheld || emptied_.contains(daemon.name)) continue;
    const Result<bool> emptied =
        empty_shared_memory(daemon.shm(), processes_of(daemon), wanted_at - kClockLag);
    if (emptied && *emptied) emptied_.insert(daemon.name);
    has_younger_ = has_younger_ || (emptied && !*emptied);
    const std::string problem = emptied ? "" : emptied.error().message;
    if (!logged_.changed(daemon.name, problem) || problem.empty()) continue;
    log_.warning("cannot empty mps shared memory for the next pod",
                 {{"daemon", daemon.name}, {"problem", problem}});
  }
}

void MpsSupervisor::publish(const MpsPlan& plan) {
  MpsReport report;
  for (const auto& [name, daemon] : daemons_) report.daemons.push_back(daemon->status());
  for (const auto& [uuid, why] : plan.refused) report.wirings[uuid].problem = why;
  for (const auto& [uuid, elsewhere] : plan.external) {
    report.wirings[uuid] = outside_.look(elsewhere, OutsideWatch::Clock::now());
  }
  for (const MpsDaemonStatus& status : report.daemons) {
    std::string problem = status.problem();
    if (problem.empty() && status.plan.shared_memory) {
      const Status shared = check_shared_memory(status.plan.shm(), status.plan.shared_memory_bytes,
                                                places_.host_mounts);
      if (!shared) problem = shared.error().message;
    }
    report.wirings.merge(wirings_of(status.plan, problem));
  }
  if (reports_.publish(std::move(report)) && on_report_) on_report_();
}

}  // namespace tranche::node
