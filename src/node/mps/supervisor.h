// SPDX-License-Identifier: Apache-2.0
//
// Makes the node's MPS daemons match the plan, and reports their status.
//
// Daemons outlive the supervisor: containers depend on them, and an agent that is updated or
// crashes must not end their work. The next agent adopts them. A daemon ends when its device leaves
// the plan, and by stop(). (If a container runtime ends every process together with the first one,
// the daemon's clients end with the agent.)
//
// Never pass a plan from an inventory that could not be read: a device that is not in it loses its
// daemon and its clients.
//
// Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "core/mps/mps_plan.h"
#include "core/mps/mps_report.h"
#include "node/mps/daemon.h"
#include "node/mps/outside.h"
#include "os/latest.h"
#include "os/log.h"

namespace tranche::node {

class MpsSupervisor {
 public:
  // Calls `compute_mode` on daemons' threads, and only for plans with exclusive devices. `log`
  // outlives the supervisor.
  MpsSupervisor(const MpsPlaces& places, MpsTimings timings, ComputeModeDriver compute_mode,
                const Log& log);
  MpsSupervisor(const MpsSupervisor&) = delete;
  MpsSupervisor& operator=(const MpsSupervisor&) = delete;
  ~MpsSupervisor();

  // Takes effect at once; the reports show the result.
  void set_plan(MpsPlan plan);
  // Ends all our daemons and waits for that.
  void stop();

  const Latest<MpsReport>& reports() const { return reports_; }
  // Called on the supervisor's thread after each new report, and when it needs a newer plan; set
  // before the first plan.
  void on_report(std::function<void()> hook) { on_report_ = std::move(hook); }

 private:
  void run(const std::stop_token& stop);
  void reconcile(const MpsPlan& plan);
  void drain_leftovers(const MpsPlan& plan);
  void start(const MpsDaemonPlan& plan, MpsDaemon::Goal goal);
  void publish(const MpsPlan& plan);
  void empty_unheld_memory(const MpsPlan& plan, std::chrono::system_clock::time_point wanted_at);
  void wake();

  const MpsPlaces places_;
  const MpsTimings timings_;
  const ComputeModeDriver compute_mode_;
  const Log& log_;
  Latest<MpsReport> reports_;
  std::function<void()> on_report_;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  // Guarded by mutex_.
  std::optional<MpsPlan> wanted_;
  bool has_news_ = false;  // a new plan or status
  std::chrono::system_clock::time_point wanted_at_;
  bool idle_ = true;  // no daemon of ours runs, and the last plan is done

  // Used by the own thread only.
  std::map<std::string, std::unique_ptr<MpsDaemon>> daemons_;
  std::string leftovers_checked_;
  OutsideWatch outside_{has_paths_of_host()};
  std::set<std::string> emptied_;  // daemons with unused shared memory
  bool has_younger_ = false;       // shared memory has files too young to be removed
  OnChange logged_;
  std::set<std::string> bins_;  // folders with our nvidia-cuda-mps-server link

  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace tranche::node
