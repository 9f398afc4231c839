// SPDX-License-Identifier: Apache-2.0
#include "node/mps/supervisor.h"

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

// How often others' daemons are looked at, and mounts of ours.
constexpr std::chrono::seconds kLookElsewhere{2};
constexpr std::chrono::seconds kLookAtMounts{10};
// A file's time is that of a clock which lags a little.
constexpr std::chrono::seconds kClockLag{1};
constexpr const char* kBin = "bin";

std::string real_path_of(const std::string& program) {
  std::error_code error;
  const std::string path = std::filesystem::canonical(program, error).string();
  return error ? program : path;
}

// The same daemon: what differs can be changed while it runs.
bool is_same_daemon(MpsDaemonPlan a, const MpsDaemonPlan& b) {
  a.limits = b.limits;
  a.unheld = b.unheld;
  return a == b;
}

// How often to look at what changes without anybody telling us; empty: nothing does.
std::optional<std::chrono::seconds> between_looks(const std::optional<MpsPlan>& plan) {
  if (plan && !plan->external.empty()) return kLookElsewhere;
  const bool mounts = plan && std::ranges::any_of(plan->daemons, &MpsDaemonPlan::shared_memory);
  return mounts ? std::optional(kLookAtMounts) : std::nullopt;
}

}  // namespace

MpsSupervisor::MpsSupervisor(const MpsPlaces& host, MpsTimings timings,
                             ComputeModeDriver compute_mode, const Log& log)
    : host_{host.driver_root, real_path_of(host.self), host.nvidia_root, host.host_mounts},
      timings_(timings),
      compute_mode_(std::move(compute_mode)),
      log_(log),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

MpsSupervisor::~MpsSupervisor() {
  thread_.request_stop();
  thread_.join();
  // The last changes of daemons that are let go ring a supervisor that is still
  // whole.
  daemons_.clear();
}

void MpsSupervisor::set_plan(MpsPlan plan) {
  {
    const std::lock_guard lock(mutex_);
    wanted_ = std::move(plan);
    wanted_at_ = std::chrono::system_clock::now();
    rung_ = true;
    idle_ = false;
  }
  changed_.notify_all();
}

void MpsSupervisor::stop() {
  std::unique_lock lock(mutex_);
  if (!wanted_) return;
  wanted_->daemons.clear();
  rung_ = true;
  idle_ = false;
  changed_.notify_all();
  changed_.wait(lock, [&] { return idle_; });
}

void MpsSupervisor::ring() {
  {
    const std::lock_guard lock(mutex_);
    rung_ = true;
  }
  changed_.notify_all();
}

void MpsSupervisor::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::optional<MpsPlan> plan;
    std::chrono::system_clock::time_point wanted_at;
    {
      std::unique_lock lock(mutex_);
      const auto has_news = [&] { return rung_; };
      if (const auto pause = between_looks(wanted_)) {
        changed_.wait_for(lock, stop, *pause, has_news);
      } else {
        changed_.wait(lock, stop, has_news);
      }
      rung_ = false;
      plan = wanted_;
      wanted_at = wanted_at_;
    }
    if (!plan || stop.stop_requested()) continue;
    reconcile(*plan);
    empty_what_is_unheld(*plan, wanted_at);
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
  take_up_leftovers(plan);
  for (const auto& [name, daemon] : daemons_) {
    const auto wanted = std::ranges::find(plan.daemons, name, &MpsDaemonPlan::name);
    const MpsDaemonPlan has = daemon->status().plan;
    if (wanted != plan.daemons.end() && is_same_daemon(*wanted, has)) {
      if (wanted->limits != has.limits) daemon->set_limits(wanted->limits);
    } else {
      // One that is wanted in another shape comes back when this one is gone.
      daemon->drain();
    }
  }
  for (const MpsDaemonPlan& wanted : plan.daemons) {
    if (!daemons_.contains(wanted.name)) start(wanted, MpsDaemon::Goal::kRun);
  }
  for (const auto& [name, daemon] : daemons_) daemon->set_rules(plan.rules);
  if (!daemons_.empty()) return;
  // An earlier agent's, too.
  if (!plan.directory.empty()) bins_.insert(plan.directory + "/" + kBin);
  for (const std::string& bin : bins_) remove_server_link(bin, host_.self);
  bins_.clear();
}

// Daemons of an earlier agent that the plan does not want.
void MpsSupervisor::take_up_leftovers(const MpsPlan& plan) {
  if (plan.directory.empty() || leftovers_looked_for_ == plan.directory) return;
  leftovers_looked_for_ = plan.directory;
  const Result<std::vector<std::string>> names = list_directory(plan.directory);
  if (!names) return;
  std::vector<std::string> foreign;
  for (const std::string& name : *names) {
    const MpsDaemonPlan left{.name = name, .folder = plan.directory + "/" + name};
    const auto wanted = std::ranges::find(plan.daemons, name, &MpsDaemonPlan::name);
    if (wanted != plan.daemons.end()) continue;
    const FolderUse use = name == kBin ? FolderUse::kServerLink : FolderUse::kDaemon;
    if (!open_own_folder(left.folder, use, host_.self)) {
      foreign.push_back(name);
    } else if (use == FolderUse::kDaemon) {
      start(left, MpsDaemon::Goal::kDrain);
    }
  }
  if (foreign.empty()) return;
  log_.warning("what is in the directory for MPS daemons is not ours and is left alone",
               {{"directory", plan.directory}, {"names", join(foreign, " ")}});
}

void MpsSupervisor::start(const MpsDaemonPlan& plan, MpsDaemon::Goal goal) {
  const std::string bin = parent_of(plan.folder) + "/" + kBin;
  bins_.insert(bin);
  daemons_[plan.name] = std::make_unique<MpsDaemon>(
      plan, MpsDaemon::Surroundings{host_, timings_, bin, compute_mode_, &log_, [this] { ring(); }},
      goal);
}

// So that one pod does not find what another left.
void MpsSupervisor::empty_what_is_unheld(const MpsPlan& plan,
                                         std::chrono::system_clock::time_point wanted_at) {
  for (const MpsDaemonPlan& daemon : plan.daemons) {
    if (!daemon.shared_memory) continue;
    if (!daemon.unheld) {
      emptied_.erase(daemon.name);
    } else if (emptied_.insert(daemon.name).second) {
      const Status emptied =
          empty_shared_memory(daemon.shm(), processes_of(daemon), wanted_at - kClockLag);
      if (emptied) continue;
      log_.warning("mps shared memory is not empty for the next pod",
                   {{"daemon", daemon.name}, {"problem", emptied.error().message}});
    }
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
                                                host_.host_mounts);
      if (!shared) problem = shared.error().message;
    }
    report.wirings.merge(wirings_of(status.plan, problem));
  }
  if (reports_.publish(std::move(report)) && told_) told_();
}

}  // namespace tranche::node
