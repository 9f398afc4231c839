// SPDX-License-Identifier: Apache-2.0
//
// The life of one MPS control daemon: started or adopted, limits set, tested with a real client,
// watched, restarted with growing pauses, drained. Each has its own thread, so that they do not
// affect each other.
//
// Public functions may be called from any thread.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.h"
#include "core/mps/control_words.h"
#include "core/mps/mps_report.h"
#include "core/mps/mps_timings.h"
#include "core/mps/own_commands.h"
#include "core/mps/silence.h"
#include "node/mps/client_trial.h"
#include "node/mps/driver_programs.h"
#include "node/mps/exclusive_mode.h"
#include "os/child_process.h"
#include "os/daemon_output.h"
#include "os/log.h"
#include "os/wake_fd.h"

namespace tranche::node {

inline Error mps_trouble(std::string message) {
  return {ErrorCode::kUnavailable, std::move(message)};
}

class MpsDaemon {
 public:
  struct Surroundings {
    MpsPlaces places;
    MpsTimings timings;
    std::string path_folder;  // has our link nvidia-cuda-mps-server
    ComputeModeDriver compute_mode;
    const Log* log;                   // outlives the daemon
    std::function<void()> on_change;  // status() changed; called on the own thread
  };

  enum class Goal { kRun, kLeave, kDrain };

  // With kDrain, ends an earlier agent's daemon and starts none.
  MpsDaemon(MpsDaemonPlan plan, Surroundings surroundings, Goal goal = Goal::kRun);
  MpsDaemon(const MpsDaemon&) = delete;
  MpsDaemon& operator=(const MpsDaemon&) = delete;
  // Leaves the daemon running for its clients; the next agent adopts it. A daemon that is being
  // drained has ended when this returns.
  ~MpsDaemon();

  MpsDaemonStatus status() const;
  // Limits for new clients; in force within moments.
  void set_limits(MemoryLimits limits);
  void set_rules(const MpsRules& rules);
  // Refuses new clients, ends the daemon and removes its files. Then status() says kStopped.
  void drain();

 private:
  using Clock = std::chrono::steady_clock;
  enum class Event { kTime, kWoken, kEnded };

  void run();
  Status bring_up();
  Status make_ready();
  Status start_or_adopt();
  bool adopt();
  Status start();
  Status await_answer();
  Status apply_limits();
  Status let_clients_in();
  // Returns on trouble or when the goal changed.
  Status watch();
  Status check(bool with_look, bool with_canary);
  Status check_again(const Error& first);
  // Restarting ends every client, so a failed query is repeated once after a pause. False: the
  // daemon exited or the plan changed.
  bool pause_and_retry(const Error& first);
  // The test client hangs for the second time. True: other clients use the daemon, so it is queried
  // again instead of restarted.
  bool is_spared(const Error& trouble);
  // The daemon does not answer: reports and disconnects the client that blocks it, then retries.
  // Error: it exited or has to be restarted.
  Status handle_no_answer(const Error& first);
  // True: something was ended, so retry at once.
  bool end_holders(const Silence& silence);
  bool kill_holders(const HeldConnection& held, const std::vector<ProcessFacts>& holders);
  void pause();
  void report_trouble(const std::string& problem);
  Status look();
  Status renew(const std::vector<int>& servers);
  void check_compute_mode();
  void look_at_clients(const std::vector<int>& pids);
  void report_foreign_commands();
  Status try_client();
  // `looks` collects the connections that the daemon waited for meanwhile.
  CanaryVerdict run_canary(HeldThroughout& looks);
  void stop_processes();
  void clean_up();
  Status try_to_restore_compute_mode();

  Result<std::string> ask(const std::string& question);
  // Waits and reads the daemon's output; `also` is another process to wait for.
  Event wait_until(Clock::time_point deadline, const Process* also = nullptr);
  void read_output(bool with_commands = true, bool has_ended = false);
  Error ended_error();

  Goal goal() const;
  void set_state(MpsState state, const std::string& problem = "");
  void change_status(const std::function<void(MpsDaemonStatus&)>& change);

  const Surroundings surroundings_;
  const MpsTimings& timings_;
  const WakeFd wake_;

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  MpsDaemonStatus status_;
  Goal goal_;
  bool is_abandoned_ = false;  // the destructor runs

  // Used by the own thread only.
  MpsDaemonPlan plan_;
  DriverPrograms programs_;
  Process process_;
  std::optional<DaemonOutput> output_;
  MemoryLimits applied_;
  ClientTrial trial_;
  HoldingTime holding_;
  bool is_silent_ = false;      // the last query got no answer
  bool is_hanging_ = false;     // the last test client hung
  bool is_recovering_ = false;  // its server accepts no clients yet
  std::string mode_problem_;    // why the devices are not exclusive to MPS
  OwnCommands own_commands_;
  // Commands of others, not yet reported.
  unsigned foreign_commands_ = 0;
  std::string foreign_command_;
  std::string logged_root_clients_;
  bool no_library_logged_ = false;

  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace tranche::node
