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
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "base/wake_fd.h"
#include "mps/client_trial.h"
#include "mps/compute_mode.h"
#include "mps/control_words.h"
#include "mps/daemon_output.h"
#include "mps/driver_programs.h"
#include "mps/process.h"
#include "mps/report.h"
#include "mps/timings.h"

namespace tranche {

class MpsDaemon {
 public:
  struct Surroundings {
    MpsHost host;
    MpsTimings timings;
    std::string path_folder;  // holds nvidia-cuda-mps-server, which is us
    SetComputeMode set_compute_mode;
    const Log* log;                   // outlives the daemon
    std::function<void()> on_change;  // status() has something new; called on the own thread
  };

  enum class Wish { kRun, kLeave, kDrain };

  // With kDrain one that an earlier agent left is ended, and none started.
  MpsDaemon(MpsDaemonPlan plan, Surroundings surroundings, Wish wish = Wish::kRun);
  MpsDaemon(const MpsDaemon&) = delete;
  MpsDaemon& operator=(const MpsDaemon&) = delete;
  // Lets go of the daemon and leaves it running for its clients; the next agent
  // adopts it. One that is being drained is gone when this returns.
  ~MpsDaemon();

  MpsDaemonStatus status() const;
  // New limits for clients to come; in force within moments.
  void set_limits(MemoryLimits limits);
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
  Status look();
  Status try_client();
  CanaryVerdict run_canary();
  void stop_processes();
  void clean_up();
  Status put_compute_mode_back();

  Result<std::string> ask(const std::string& question) const;
  // Waits, reading the daemon's output; `also` is another process to wait for.
  Event wait_until(Clock::time_point deadline, const Process* also = nullptr);
  void read_output();
  Error ended_error();

  Wish wish() const;
  void set_state(MpsState state, const std::string& problem = "");
  template <typename Change>
  void change_status(Change change);

  const Surroundings surroundings_;
  const MpsTimings& timings_;
  const WakeFd wake_;

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  MpsDaemonStatus status_;
  Wish wish_;
  bool is_let_go_ = false;  // nobody waits for anything any more

  // The own thread's.
  MpsDaemonPlan plan_;
  DriverPrograms programs_;
  Process process_;
  std::optional<DaemonOutput> output_;
  MemoryLimits applied_;
  ClientTrial trial_;
  bool no_library_told_ = false;

  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace tranche
