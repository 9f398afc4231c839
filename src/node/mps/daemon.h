// SPDX-License-Identifier: Apache-2.0
//
// One MPS control daemon's life: started or adopted, limits set, tried with a
// real client, watched, restarted with growing pauses, drained. Each has a
// thread of its own, so whatever one of them does, or does not, is no other's
// concern.
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
    MpsPlaces host;
    MpsTimings timings;
    std::string path_folder;  // holds nvidia-cuda-mps-server, which is us
    ComputeModeDriver compute_mode;
    const Log* log;                   // outlives the daemon
    std::function<void()> on_change;  // status() has something new; called on the own thread
  };

  enum class Goal { kRun, kLeave, kDrain };

  // With kDrain one that an earlier agent left is ended, and none started.
  MpsDaemon(MpsDaemonPlan plan, Surroundings surroundings, Goal goal = Goal::kRun);
  MpsDaemon(const MpsDaemon&) = delete;
  MpsDaemon& operator=(const MpsDaemon&) = delete;
  // Lets go of the daemon and leaves it running for its clients; the next agent
  // adopts it. One that is being drained is gone when this returns.
  ~MpsDaemon();

  MpsDaemonStatus status() const;
  // New limits for clients to come; in force within moments.
  void set_limits(MemoryLimits limits);
  void set_rules(const MpsRules& rules);
  // Lets no more clients in, ends the daemon and removes what is left of it.
  // status() says kStopped when that is done.
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
  // Until there is trouble, or something else is wished for.
  Status watch();
  Status check(bool with_look, bool with_canary);
  Status check_again(const Error& first);
  // Ending a daemon ends every client, and one question that went wrong may have
  // been our own trouble: no container is sent there, and after a pause it is
  // asked once more. False: it ended, or something else is wished for.
  bool may_be_asked_again(const Error& first);
  // A client of ours hangs for the second time. True: others compute through the daemon, so
  // it is not restarted, and it may be asked again.
  bool is_spared(const Error& trouble);
  // It answers no question: names and ends whom it waits for, and goes on
  // asking. An error: it ended or is to be restarted.
  Status bear_silence(const Error& first);
  // True: something was ended, and there is no need to wait.
  bool end_holders(const Silence& silence);
  bool kill_holders(const HeldConnection& held, const std::vector<ProcessFacts>& holders);
  void pause();
  void tell_trouble(const std::string& problem);
  Status look();
  Status renew(const std::vector<int>& servers);
  void check_compute_mode();
  void look_at_clients(const std::vector<int>& pids);
  void report_foreign_commands();
  Status try_client();
  // `looks`: at the connections that the daemon waited for while the client did.
  CanaryVerdict run_canary(HeldThroughout& looks);
  void stop_processes();
  void clean_up();
  Status put_compute_mode_back();

  Result<std::string> ask(const std::string& question);
  // Waits, reading the daemon's output; `also` is another process to wait for.
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
  bool is_let_go_ = false;  // nobody waits for anything any more

  // The own thread's.
  MpsDaemonPlan plan_;
  DriverPrograms programs_;
  Process process_;
  std::optional<DaemonOutput> output_;
  MemoryLimits applied_;
  ClientTrial trial_;
  HoldingTime holding_;
  bool is_silent_ = false;      // the last question got no answer
  bool is_hanging_ = false;     // the last client of ours got no answer
  bool is_recovering_ = false;  // its server takes no clients yet
  std::string mode_problem_;    // why the devices may be used by others than MPS
  OwnCommands own_commands_;
  // Commands of others that are not reported yet.
  unsigned foreign_commands_ = 0;
  std::string foreign_command_;
  std::string root_clients_told_;
  bool no_library_told_ = false;

  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace tranche::node
