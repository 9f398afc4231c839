// SPDX-License-Identifier: Apache-2.0
//
// Makes the node's MPS daemons match the plan, and says how they are.
//
// Daemons outlive the supervisor: containers depend on them, and an agent that
// is updated or crashes must not end their work. The next agent adopts what
// runs. A daemon is ended when its device leaves the plan, and by stop(). (In a
// container whose runtime ends every process with the first one this cannot
// help; there the daemon's clients share the agent's fate.)
//
// Never hand in a plan from an inventory that could not be read: a device that
// is not in it loses its daemon, and with it its clients.
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
  // `compute_mode` is called on daemons' threads, and only for plans that
  // ask for exclusive devices. `log` outlives the supervisor.
  MpsSupervisor(const MpsPlaces& host, MpsTimings timings, ComputeModeDriver compute_mode,
                const Log& log);
  MpsSupervisor(const MpsSupervisor&) = delete;
  MpsSupervisor& operator=(const MpsSupervisor&) = delete;
  ~MpsSupervisor();

  // Taken up at once; what it leads to is in the reports.
  void set_plan(MpsPlan plan);
  // Ends every daemon of ours and waits until nothing is left.
  void stop();

  const Latest<MpsReport>& reports() const { return reports_; }
  // Called on the supervisor's thread after each new report, and when a newer plan is needed;
  // set before the first plan.
  void on_report(std::function<void()> told) { told_ = std::move(told); }

 private:
  void run(const std::stop_token& stop);
  void reconcile(const MpsPlan& plan);
  void take_up_leftovers(const MpsPlan& plan);
  void start(const MpsDaemonPlan& plan, MpsDaemon::Goal goal);
  void publish(const MpsPlan& plan);
  void empty_what_is_unheld(const MpsPlan& plan, std::chrono::system_clock::time_point wanted_at);
  void ring();

  const MpsPlaces host_;
  const MpsTimings timings_;
  const ComputeModeDriver compute_mode_;
  const Log& log_;
  Latest<MpsReport> reports_;
  std::function<void()> told_;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  // Guarded by mutex_.
  std::optional<MpsPlan> wanted_;
  bool rung_ = false;
  std::chrono::system_clock::time_point wanted_at_;
  bool idle_ = true;  // nothing of ours runs, and the last plan was looked at

  // The own thread's.
  std::map<std::string, std::unique_ptr<MpsDaemon>> daemons_;
  std::string leftovers_looked_for_;
  OutsideWatch outside_{has_paths_of_host()};
  std::set<std::string> emptied_;  // daemons whose shared memory nobody has used since
  bool has_younger_ = false;       // in shared memory: too young for the plan to be emptied
  OnChange said_;
  std::set<std::string> bins_;  // folders with the link that makes us a server

  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace tranche::node
