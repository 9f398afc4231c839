// SPDX-License-Identifier: Apache-2.0
#include "node/mps/daemon.h"

#include <fmt/core.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "core/mps/control_questions.h"
#include "node/mps/client_view.h"
#include "node/mps/connection_holder.h"
#include "node/mps/control_program.h"
#include "node/mps/server_link.h"
#include "node/mps/shared_memory.h"

namespace tranche::node {
namespace {

using std::chrono::milliseconds;

// Polling interval of a starting daemon, which takes about 20 ms.
constexpr milliseconds kComingUp{20};
constexpr int kRestoreTries = 7;

milliseconds left_until(std::chrono::steady_clock::time_point deadline) {
  return std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
}

}  // namespace

MpsDaemon::MpsDaemon(MpsDaemonPlan plan, Surroundings surroundings, Goal goal)
    : surroundings_(std::move(surroundings)),
      timings_(surroundings_.timings),
      status_{.plan = plan, .since = std::chrono::system_clock::now()},
      goal_(goal),
      plan_(std::move(plan)),
      holding_(timings_.holding, own_pod()),
      thread_([this] { run(); }) {}

MpsDaemon::~MpsDaemon() {
  {
    const std::lock_guard lock(mutex_);
    if (goal_ == Goal::kRun) goal_ = Goal::kLeave;
    is_abandoned_ = true;
  }
  wake_.ring();
}

MpsDaemonStatus MpsDaemon::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

void MpsDaemon::set_limits(MemoryLimits limits) {
  {
    const std::lock_guard lock(mutex_);
    status_.plan.limits = std::move(limits);
  }
  wake_.ring();
}

void MpsDaemon::set_rules(const MpsRules& rules) {
  const std::lock_guard lock(mutex_);
  status_.rules = rules;
}

void MpsDaemon::drain() {
  {
    const std::lock_guard lock(mutex_);
    goal_ = Goal::kDrain;
  }
  wake_.ring();
}

MpsDaemon::Goal MpsDaemon::goal() const {
  const std::lock_guard lock(mutex_);
  return goal_;
}

void MpsDaemon::change_status(const std::function<void(MpsDaemonStatus&)>& change) {
  {
    const std::lock_guard lock(mutex_);
    MpsDaemonStatus next = status_;
    change(next);
    if (next == status_) return;
    status_ = std::move(next);
  }
  surroundings_.on_change();
}

void MpsDaemon::set_state(MpsState state, const std::string& problem) {
  change_status([&](MpsDaemonStatus& status) {
    const MpsState before = status.state;
    if (before != state) status.since = std::chrono::system_clock::now();
    status.state = state;
    if (problem.empty()) return;
    // The time of the first occurrence of a repeated problem.
    if (status.last_problem != problem || status.state != before) {
      status.last_problem_at = std::chrono::system_clock::now();
    }
    status.last_problem = problem;
  });
}

void MpsDaemon::run() {
  milliseconds pause{0};
  while (goal() == Goal::kRun) {
    Status outcome = bring_up();
    const Clock::time_point up_at = Clock::now();
    if (outcome && goal() == Goal::kRun) {
      surroundings_.log->info("mps daemon is ready", {{"daemon", plan_.name}});
      set_state(MpsState::kReady);
      outcome = watch();
    }
    if (goal() != Goal::kRun) break;
    const std::string problem = outcome ? "" : outcome.error().message;
    pause = next_backoff(timings_, pause, -left_until(up_at));
    surroundings_.log->warning("mps daemon failed; restarting it",
                               {{"daemon", plan_.name},
                                {"problem", problem},
                                {"in", fmt::format("{} ms", pause.count())}});
    set_state(MpsState::kTrouble, problem);
    // Without the driver's programs the daemon could not be started again.
    if (find_programs(surroundings_.places)) {
      stop_processes();
      change_status([](MpsDaemonStatus& status) { ++status.restarts; });
    }
    for (const Clock::time_point until = Clock::now() + pause;
         goal() == Goal::kRun && wait_until(until) != Event::kTime;) {
    }
  }
  if (goal() == Goal::kDrain) clean_up();
}

Status MpsDaemon::bring_up() {
  set_state(MpsState::kStarting);
  Result<DriverPrograms> programs = find_programs(surroundings_.places);
  if (!programs) return programs.error();
  programs_ = *std::move(programs);
  if (Status made = make_server_link(surroundings_.path_folder, surroundings_.places.self); !made) {
    return made;
  }
  if (Status made = make_mps_folders(plan_, surroundings_.places.host_mounts); !made) return made;
  Result<DaemonOutput> output = DaemonOutput::open(plan_.folder + "/output");
  if (!output) return output.error();
  output_ = *std::move(output);
  // Its content was for an earlier agent.
  read_output(false);
  if (std::string stuck = trial_.stuck(); !stuck.empty()) return mps_trouble(std::move(stuck));
  if (Status set = apply_compute_mode(plan_, surroundings_.compute_mode); !set) return set;
  if (Status up = start_or_adopt(); !up) return up;
  Status ready = make_ready();
  for (bool retried = false; !ready && !process_.has_ended() && goal() == Goal::kRun;) {
    if (is_silent_) {
      if (Status answers = handle_no_answer(ready.error()); !answers) return answers;
    } else {
      // An adopted daemon may have clients, which would end with it.
      const bool may_retry = status().adopted && !retried;
      if (may_retry ? !pause_and_retry(ready.error()) : !is_spared(ready.error())) break;
      retried = true;
    }
    ready = make_ready();
  }
  return ready;
}

Status MpsDaemon::make_ready() {
  applied_.clear();
  is_hanging_ = false;
  // Before any client: servers read the default limits when they start.
  if (Status set = apply_limits(); !set) return set;
  if (!plan_.thread_percentage.empty()) {
    const auto set = ask(set_default_percentage(plan_.thread_percentage));
    if (!set) return set.error();
  }
  if (Status in = let_clients_in(); !in) return in;
  return look();
}

Status MpsDaemon::start_or_adopt() {
  const bool adopted = adopt();
  if (!adopted) {
    if (goal() != Goal::kRun) return mps_trouble("stopping");
    stop_processes();
    if (Status up = start(); !up) return up;
  }
  change_status([&](MpsDaemonStatus& status) {
    status.adopted = adopted;
    status.pid = process_.pid();
  });
  return Done{};
}

bool MpsDaemon::adopt() {
  std::optional<Process> found = find_daemon(plan_);
  if (!found) return false;
  // The containers would get other shared memory than this daemon has.
  if (plan_.shared_memory && !has_shared_memory(found->pid(), plan_.shm())) return false;
  process_ = *std::move(found);
  change_status([&](MpsDaemonStatus& status) { status.pid = process_.pid(); });
  if (const auto first = ask("get_server_list"); !first) {
    if (!handle_no_answer(first.error())) return false;
  }
  surroundings_.log->info("mps daemon already runs; keeping it",
                          {{"daemon", plan_.name}, {"pid", std::to_string(process_.pid())}});
  return true;
}

Status MpsDaemon::start() {
  if (!output_) return mps_trouble("its output cannot be read");
  const Result<UniqueFd> out = output_->writing_end();
  if (!out) return out.error();
  const Command command =
      daemon_command(programs_, plan_, surroundings_.places, surroundings_.path_folder);
  Result<Process> process = Process::spawn(command, {.out = out->get(), .err = out->get()});
  if (!process) return process.error();
  process_ = *std::move(process);
  return await_answer();
}

Status MpsDaemon::await_answer() {
  const Clock::time_point deadline = Clock::now() + timings_.come_up;
  while (goal() == Goal::kRun) {
    if (ask("get_server_list")) return Done{};
    if (wait_until(std::min(deadline, Clock::now() + kComingUp)) == Event::kEnded) {
      return ended_error();
    }
    if (Clock::now() >= deadline) {
      return handle_no_answer(mps_trouble("the MPS daemon does not answer"));
    }
  }
  return mps_trouble("stopping");
}

Error MpsDaemon::ended_error() {
  read_output(true, true);
  std::string text = "the MPS daemon ended";
  if (!process_.ending().empty()) text += " with " + process_.ending();
  const std::string last = output_ ? output_->last_line() : "";
  return mps_trouble(last.empty() ? text : fmt::format("{}; its last words: {}", text, last));
}

Status MpsDaemon::apply_limits() {
  const MemoryLimits wanted = status().plan.limits;
  if (wanted == applied_) return Done{};
  if (Status given = set_memory_limits([this](const std::string& it) { return ask(it); }, wanted);
      !given) {
    return given;
  }
  applied_ = wanted;
  return Done{};
}

Status MpsDaemon::let_clients_in() {
  if (Status linked = link_client_view(plan_); !linked) return linked;
  return try_client();
}

void MpsDaemon::stop_processes() {
  if (!may_end_daemon_of(plan_)) return;
  end_daemon(programs_, plan_, timings_, process_);
  process_ = Process();
  read_output(false);
  change_status([](MpsDaemonStatus& status) {
    status.pid = 0;
    status.server_pid.reset();
    status.clients = 0;
    status.root_clients.clear();
  });
}

void MpsDaemon::clean_up() {
  set_state(MpsState::kStopping);
  // Leave another program's daemon and compute mode alone.
  if (!may_end_daemon_of(plan_)) return set_state(MpsState::kStopped);
  if (programs_.control.empty()) {
    if (const Result<DriverPrograms> programs = find_programs(surroundings_.places)) {
      programs_ = *programs;
    }
  }
  stop_processes();
  Status done = try_to_restore_compute_mode();
  // If the mode was not restored, its file stays for the next agent.
  if (done) done = remove_mps_folders(plan_);
  const std::string problem = done ? "" : done.error().message;
  if (done) {
    surroundings_.log->info("mps daemon is stopped", {{"daemon", plan_.name}});
  } else {
    surroundings_.log->warning("mps daemon is stopped, but its cleanup is incomplete",
                               {{"daemon", plan_.name}, {"problem", problem}});
  }
  set_state(MpsState::kStopped, problem);
}

// Tries for about a minute, and as long as the driver is released, because no other program can use
// the GPU until then.
Status MpsDaemon::try_to_restore_compute_mode() {
  const auto is_abandoned = [this] {
    const std::lock_guard lock(mutex_);
    return is_abandoned_;
  };
  milliseconds pause{0};
  for (int tries = 1;; ++tries) {
    Status done = restore_compute_mode(plan_, surroundings_.compute_mode.set);
    const auto& is_released = surroundings_.compute_mode.is_released;
    const bool may_retry = tries < kRestoreTries || (is_released && is_released());
    if (done || is_abandoned() || !may_retry) return done;
    if (tries == 1) {
      surroundings_.log->warning("cannot restore the compute mode yet",
                                 {{"daemon", plan_.name}, {"problem", done.error().message}});
    }
    set_state(MpsState::kStopping, done.error().message);
    pause = next_backoff(timings_, pause, milliseconds(0));
    for (const Clock::time_point until = Clock::now() + pause;
         !is_abandoned() && wait_until(until) != Event::kTime;) {
    }
  }
}

Result<std::string> MpsDaemon::ask(const std::string& question) {
  for (const std::string& line : split(question, '\n')) {
    if (changes_something(line)) own_commands_.sent(line);
  }
  Result<std::string> answer = ask_daemon(programs_, plan_, question, timings_.answer);
  is_silent_ = !answer;
  return answer;
}

MpsDaemon::Event MpsDaemon::wait_until(Clock::time_point deadline, const Process* also) {
  while (true) {
    if (process_ && process_.has_ended()) return Event::kEnded;
    const auto left = std::max(milliseconds(0), left_until(deadline));
    if (left == milliseconds(0)) return Event::kTime;
    std::array<pollfd, 4> polled{pollfd{wake_.fd(), POLLIN, 0},
                                 pollfd{output_ ? output_->fd() : -1, POLLIN, 0},
                                 pollfd{process_ ? process_.fd() : -1, POLLIN, 0},
                                 pollfd{also != nullptr ? also->fd() : -1, POLLIN, 0}};
    // Without a pidfd, poll for the end.
    const bool blind = (process_ && process_.fd() < 0) || (also != nullptr && also->fd() < 0);
    const milliseconds patience = blind ? std::min(left, milliseconds(200)) : left;
    ::poll(polled.data(), polled.size(), static_cast<int>(patience.count()));
    if (polled[1].revents != 0) {
      read_output();
      if (foreign_commands_ > 0) return Event::kWoken;
    }
    if (polled[0].revents != 0) {
      wake_.clear();
      return Event::kWoken;
    }
    if (also != nullptr && (polled[3].revents != 0 || blind)) return Event::kTime;
  }
}

void MpsDaemon::read_output(bool with_commands, bool has_ended) {
  if (!output_) return;
  for (const std::string& line : output_->take_lines()) {
    std::string command = command_taken(line);
    if (!command.empty() && !own_commands_.take(command) && with_commands) {
      ++foreign_commands_;
      foreign_command_ = std::move(command);
    }
    // The last line of an ended daemon is already in its logged error.
    const bool is_logged = has_ended && line == output_->last_line();
    if (is_logged || !is_worth_logging(line)) continue;
    surroundings_.log->warning("mps daemon says", {{"daemon", plan_.name}, {"line", line}});
  }
}

}  // namespace tranche::node
