// SPDX-License-Identifier: Apache-2.0
#include "mps/supervisor.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/errno_error.h"
#include "base/files.h"

namespace tranche {
namespace {

// How often others' daemons are looked at.
constexpr std::chrono::seconds kLookElsewhere{2};
constexpr const char* kBin = "bin";

std::string real_path_of(const std::string& program) {
  std::error_code error;
  const std::string path = std::filesystem::canonical(program, error).string();
  return error ? program : path;
}

// Puts nvidia-cuda-mps-server, which is a link to us, into the folder that
// daemons have as their PATH.
Status make_server_link(const std::string& folder, const std::string& self) {
  if (Status made = make_directories(folder); !made) return made;
  const std::string link = folder + "/" + kServerProgram;
  const std::string temporary = link + ".new";
  ::unlink(temporary.c_str());
  if (::symlink(self.c_str(), temporary.c_str()) != 0) return errno_error("linking " + temporary);
  if (::rename(temporary.c_str(), link.c_str()) != 0) return errno_error("renaming to " + link);
  return Done{};
}

// The same daemon: what differs can be changed while it runs.
bool is_same_daemon(MpsDaemonPlan a, const MpsDaemonPlan& b) {
  a.limits = b.limits;
  return a == b;
}

MpsWiring wiring_elsewhere(const MpsElsewhere& elsewhere) {
  MpsWiring wiring = elsewhere.wiring;
  const bool ready =
      elsewhere.ready_when.empty() || std::ranges::any_of(elsewhere.ready_when, path_exists);
  if (wiring.problem.empty() && !ready) {
    wiring.problem = "NVIDIA's MPS control daemon is not ready: none of " +
                     elsewhere.ready_when.front() + " and " + elsewhere.ready_when.at(1) +
                     " is there";
  }
  return wiring;
}

}  // namespace

MpsSupervisor::MpsSupervisor(const MpsHost& host, MpsTimings timings,
                             SetComputeMode set_compute_mode, const Log& log)
    : host_{host.driver_root, real_path_of(host.self), host.nvidia_root},
      timings_(timings),
      set_compute_mode_(std::move(set_compute_mode)),
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
    {
      std::unique_lock lock(mutex_);
      const bool elsewhere = wanted_ && !wanted_->elsewhere.empty();
      const auto has_news = [&] { return rung_; };
      if (elsewhere) {
        changed_.wait_for(lock, stop, kLookElsewhere, has_news);
      } else {
        changed_.wait(lock, stop, has_news);
      }
      rung_ = false;
      plan = wanted_;
    }
    if (!plan || stop.stop_requested()) continue;
    reconcile(*plan);
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
    if (!daemons_.contains(wanted.name)) start(wanted, MpsDaemon::Wish::kRun);
  }
  if (!daemons_.empty()) return;
  // An earlier agent's, too.
  if (!plan.directory.empty()) bins_.insert(plan.directory + "/" + kBin);
  std::error_code ignored;
  for (const std::string& bin : bins_) std::filesystem::remove_all(bin, ignored);
  bins_.clear();
}

// Daemons of an earlier agent that the plan does not want.
void MpsSupervisor::take_up_leftovers(const MpsPlan& plan) {
  if (plan.directory.empty() || leftovers_looked_for_ == plan.directory) return;
  leftovers_looked_for_ = plan.directory;
  const Result<std::vector<std::string>> names = list_directory(plan.directory);
  if (!names) return;
  for (const std::string& name : *names) {
    const MpsDaemonPlan left{.name = name, .folder = plan.directory + "/" + name};
    const auto wanted = std::ranges::find(plan.daemons, name, &MpsDaemonPlan::name);
    if (wanted != plan.daemons.end() || !path_exists(left.pipe())) continue;
    start(left, MpsDaemon::Wish::kDrain);
  }
}

void MpsSupervisor::start(const MpsDaemonPlan& plan, MpsDaemon::Wish wish) {
  const std::string bin = parent_of(plan.folder) + "/" + kBin;
  bins_.insert(bin);
  if (Status made = make_server_link(bin, host_.self); !made) {
    log_.warning("mps servers cannot be started", {{"problem", made.error().message}});
  }
  daemons_[plan.name] = std::make_unique<MpsDaemon>(
      plan,
      MpsDaemon::Surroundings{host_, timings_, bin, set_compute_mode_, &log_, [this] { ring(); }},
      wish);
}

void MpsSupervisor::publish(const MpsPlan& plan) {
  MpsReport report;
  for (const auto& [name, daemon] : daemons_) report.daemons.push_back(daemon->status());
  for (const auto& [uuid, why] : plan.refused) report.wirings[uuid].problem = why;
  for (const auto& [uuid, elsewhere] : plan.elsewhere) {
    report.wirings[uuid] = wiring_elsewhere(elsewhere);
  }
  for (const MpsDaemonStatus& status : report.daemons) {
    report.wirings.merge(wirings_of(status.plan, status.problem()));
  }
  if (reports_.publish(std::move(report)) && told_) told_();
}

}  // namespace tranche
