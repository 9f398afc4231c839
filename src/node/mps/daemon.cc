// SPDX-License-Identifier: Apache-2.0
#include "mps/daemon.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <utility>

#include "mps/client_view.h"
#include "mps/control_client.h"
#include "mps/questions.h"

namespace tranche {
namespace {

using std::chrono::milliseconds;

// Between two questions to a daemon that is just coming up; it takes about 20 ms.
constexpr milliseconds kComingUp{20};
constexpr int kRestoreTries = 7;

Error trouble(std::string message) { return {ErrorCode::kUnavailable, std::move(message)}; }

milliseconds left_until(std::chrono::steady_clock::time_point deadline) {
  return std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
}

}  // namespace

MpsDaemon::MpsDaemon(MpsDaemonPlan plan, Surroundings surroundings, Wish wish)
    : surroundings_(std::move(surroundings)),
      timings_(surroundings_.timings),
      status_{.plan = plan, .since = std::chrono::system_clock::now()},
      wish_(wish),
      plan_(std::move(plan)),
      thread_([this] { run(); }) {}

MpsDaemon::~MpsDaemon() {
  {
    const std::lock_guard lock(mutex_);
    if (wish_ == Wish::kRun) wish_ = Wish::kLeave;
    is_let_go_ = true;
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

void MpsDaemon::drain() {
  {
    const std::lock_guard lock(mutex_);
    wish_ = Wish::kDrain;
  }
  wake_.ring();
}

MpsDaemon::Wish MpsDaemon::wish() const {
  const std::lock_guard lock(mutex_);
  return wish_;
}

template <typename Change>
void MpsDaemon::change_status(Change change) {
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
    if (status.state != state) status.since = std::chrono::system_clock::now();
    status.state = state;
    if (!problem.empty()) status.last_problem = problem;
  });
}

void MpsDaemon::run() {
  milliseconds pause{0};
  while (wish() == Wish::kRun) {
    Status outcome = bring_up();
    const Clock::time_point up_at = Clock::now();
    if (outcome && wish() == Wish::kRun) {
      surroundings_.log->info("mps daemon is ready", {{"daemon", plan_.name}});
      set_state(MpsState::kReady);
      outcome = watch();
    }
    if (wish() != Wish::kRun) break;
    const std::string problem = outcome ? "" : outcome.error().message;
    pause = next_backoff(timings_, pause, -left_until(up_at));
    surroundings_.log->warning("mps daemon is in trouble and starts again",
                               {{"daemon", plan_.name},
                                {"problem", problem},
                                {"in", std::to_string(pause.count()) + " ms"}});
    set_state(MpsState::kTrouble, problem);
    // What cannot be asked or started again is not ended.
    if (find_programs(surroundings_.host)) {
      stop_processes();
      change_status([](MpsDaemonStatus& status) { ++status.restarts; });
    }
    for (const Clock::time_point until = Clock::now() + pause;
         wish() == Wish::kRun && wait_until(until) != Event::kTime;) {
    }
  }
  if (wish() == Wish::kDrain) clean_up();
}

Status MpsDaemon::bring_up() {
  set_state(MpsState::kStarting);
  Result<DriverPrograms> programs = find_programs(surroundings_.host);
  if (!programs) return programs.error();
  programs_ = *std::move(programs);
  if (Status made = make_mps_folders(plan_); !made) return made;
  Result<DaemonOutput> output = DaemonOutput::open(plan_.folder + "/output");
  if (!output) return output.error();
  output_ = *std::move(output);
  if (std::string stuck = trial_.stuck(); !stuck.empty()) return trouble(std::move(stuck));
  if (Status set = apply_compute_mode(plan_, surroundings_.set_compute_mode); !set) return set;
  if (Status up = start_or_adopt(); !up) return up;
  Status ready = make_ready();
  // One that was there before us may have clients, which would end with it.
  if (!ready && status().adopted && may_be_asked_again(ready.error())) ready = make_ready();
  return ready;
}

Status MpsDaemon::make_ready() {
  applied_.clear();
  // Before any client: servers read default limits when they start.
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
    if (wish() != Wish::kRun) return trouble("it was told to stop");
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
  const std::optional<pid_t> pid = find_daemon(plan_);
  if (!pid) return false;
  process_ = Process::of(*pid);
  if (const auto first = ask("get_server_list"); !first) {
    if (!may_be_asked_again(first.error()) || !ask("get_server_list")) return false;
  }
  surroundings_.log->info("mps daemon runs already and is kept",
                          {{"daemon", plan_.name}, {"pid", std::to_string(*pid)}});
  return true;
}

bool MpsDaemon::may_be_asked_again(const Error& first) {
  const MpsDaemonStatus before = status();
  set_state(MpsState::kTrouble, first.message);
  // Told once: it may last, as while a driver's package is away.
  const std::string_view what = "mps daemon may be in trouble";
  if (before.state == MpsState::kTrouble && before.last_problem == first.message) {
    surroundings_.log->debug(what, {{"daemon", plan_.name}, {"problem", first.message}});
  } else {
    surroundings_.log->warning(what, {{"daemon", plan_.name}, {"problem", first.message}});
  }
  const Clock::time_point until = Clock::now() + timings_.least_backoff;
  for (Event event = Event::kWoken; event == Event::kWoken && wish() == Wish::kRun;) {
    event = wait_until(until);
    if (event == Event::kEnded) return false;
  }
  return wish() == Wish::kRun;
}

Status MpsDaemon::start() {
  if (!output_) return trouble("there is nothing to read its output with");
  const Result<UniqueFd> out = output_->writing_end();
  if (!out) return out.error();
  const Command command =
      daemon_command(programs_, plan_, surroundings_.host, surroundings_.path_folder);
  Result<Process> process = Process::spawn(command, {.out = out->get(), .err = out->get()});
  if (!process) return process.error();
  process_ = *std::move(process);
  return await_answer();
}

Status MpsDaemon::await_answer() {
  const Clock::time_point deadline = Clock::now() + timings_.come_up;
  while (wish() == Wish::kRun) {
    if (ask("get_server_list")) return Done{};
    if (wait_until(std::min(deadline, Clock::now() + kComingUp)) == Event::kEnded) {
      return ended_error();
    }
    if (Clock::now() >= deadline) return trouble("the MPS daemon does not answer");
  }
  return trouble("it was told to stop");
}

Error MpsDaemon::ended_error() {
  read_output();
  std::string text = "the MPS daemon ended";
  if (!process_.ending().empty()) text += " with " + process_.ending();
  const std::string last = output_ ? output_->last_line() : "";
  return trouble(last.empty() ? text : text + "; its last words: " + last);
}

Status MpsDaemon::apply_limits() {
  const MemoryLimits wanted = status().plan.limits;
  if (wanted == applied_) return Done{};
  if (Status given = give_limits([this](const std::string& it) { return ask(it); }, wanted);
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

Status MpsDaemon::watch() {
  Clock::time_point next_look = Clock::now() + timings_.look;
  Clock::time_point next_canary = Clock::now() + timings_.canary;
  while (wish() == Wish::kRun) {
    if (wait_until(std::min(next_look, next_canary)) == Event::kEnded) return ended_error();
    if (wish() != Wish::kRun) break;
    const bool with_canary = Clock::now() >= next_canary;
    const bool with_look = with_canary || Clock::now() >= next_look;
    Status fine = check(with_look, with_canary);
    if (!fine && !process_.has_ended()) fine = check_again(fine.error());
    // What a question in vain says is not why.
    if (!fine && process_.has_ended()) return ended_error();
    // Without the driver's programs nobody can ask, and nothing is known to be wrong.
    if (!fine && find_programs(surroundings_.host)) return fine;
    if (fine && status().state != MpsState::kReady) {
      surroundings_.log->info("mps daemon answers again", {{"daemon", plan_.name}});
      set_state(MpsState::kReady);
    }
    if (with_look) next_look = Clock::now() + timings_.look;
    if (with_canary) next_canary = Clock::now() + timings_.canary;
  }
  return Done{};
}

Status MpsDaemon::check(bool with_look, bool with_canary) {
  if (Status set = apply_limits(); !set) return set;
  if (with_look) {
    if (Status fine = look(); !fine) return fine;
  }
  return with_canary ? try_client() : Status(Done{});
}

Status MpsDaemon::check_again(const Error& first) {
  if (!may_be_asked_again(first)) return first;
  return check(true, true);
}

Status MpsDaemon::look() {
  const auto seen = look_at_servers([this](const std::string& it) { return ask(it); });
  if (!seen) return seen.error();
  change_status([&](MpsDaemonStatus& status) {
    status.server_pid = seen->servers.empty() ? std::nullopt : std::optional(seen->servers.front());
    status.clients = seen->clients;
  });
  return Done{};
}

Status MpsDaemon::try_client() {
  if (no_library_told_) return Done{};
  const CanaryVerdict verdict = run_canary();
  if (verdict.no_library) {
    no_library_told_ = true;
    surroundings_.log->warning("mps daemons are not tried with a client",
                               {{"daemon", plan_.name}, {"reason", verdict.problem}});
    return Done{};
  }
  if (wish() != Wish::kRun) return Done{};
  if (process_.has_ended()) return ended_error();
  if (!verdict.through) return trouble(verdict.problem);
  // A client that does not find the daemon runs without it and says nothing.
  const Result<std::string> servers = ask("get_server_list");
  if (!servers) return servers.error();
  if (parse_pids(*servers).empty()) return trouble("a client ran, but not through the daemon");
  return Done{};
}

CanaryVerdict MpsDaemon::run_canary() {
  const Clock::time_point deadline = Clock::now() + timings_.client;
  return trial_.run(canary_command(programs_, plan_, surroundings_.host), plan_.folder + "/canary",
                    [&](const Process& client) {
                      if (Clock::now() >= deadline || wish() != Wish::kRun) return false;
                      if (wait_until(deadline, &client) == Event::kEnded) return false;
                      // Somebody may be waiting for more room just now.
                      return static_cast<bool>(apply_limits());
                    });
}

void MpsDaemon::stop_processes() {
  end_daemon(programs_, plan_, timings_, process_);
  process_ = Process();
  read_output();
  change_status([](MpsDaemonStatus& status) {
    status.pid = 0;
    status.server_pid.reset();
    status.clients = 0;
  });
}

void MpsDaemon::clean_up() {
  set_state(MpsState::kStopping);
  if (programs_.control.empty()) {
    if (const Result<DriverPrograms> programs = find_programs(surroundings_.host)) {
      programs_ = *programs;
    }
  }
  stop_processes();
  Status done = put_compute_mode_back();
  // Where the mode could not be put back its memory stays, for the next agent.
  if (done) done = remove_mps_folders(plan_);
  const std::string problem = done ? "" : done.error().message;
  if (done) {
    surroundings_.log->info("mps daemon is stopped", {{"daemon", plan_.name}});
  } else {
    surroundings_.log->warning("mps daemon is stopped, but left something behind",
                               {{"daemon", plan_.name}, {"problem", problem}});
  }
  set_state(MpsState::kStopped, problem);
}

// Tried for about a minute: nobody else can compute on the GPU until it is done.
Status MpsDaemon::put_compute_mode_back() {
  const auto is_let_go = [this] {
    const std::lock_guard lock(mutex_);
    return is_let_go_;
  };
  milliseconds pause{0};
  for (int tries = 1;; ++tries) {
    Status done = restore_compute_mode(plan_, surroundings_.set_compute_mode);
    if (done || is_let_go() || tries == kRestoreTries) return done;
    if (tries == 1) {
      surroundings_.log->warning("the compute mode is not put back yet",
                                 {{"daemon", plan_.name}, {"problem", done.error().message}});
    }
    set_state(MpsState::kStopping, done.error().message);
    pause = next_backoff(timings_, pause, milliseconds(0));
    for (const Clock::time_point until = Clock::now() + pause;
         !is_let_go() && wait_until(until) != Event::kTime;) {
    }
  }
}

Result<std::string> MpsDaemon::ask(const std::string& question) const {
  return ask_daemon(programs_, plan_, question, timings_.answer);
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
    // A kernel that cannot tell of an end is asked now and then.
    const bool blind = (process_ && process_.fd() < 0) || (also != nullptr && also->fd() < 0);
    const milliseconds patience = blind ? std::min(left, milliseconds(200)) : left;
    ::poll(polled.data(), polled.size(), static_cast<int>(patience.count()));
    if (polled[1].revents != 0) read_output();
    if (polled[0].revents != 0) {
      wake_.clear();
      return Event::kWoken;
    }
    if (also != nullptr && (polled[3].revents != 0 || blind)) return Event::kTime;
  }
}

void MpsDaemon::read_output() {
  if (!output_) return;
  for (const std::string& line : output_->take_lines()) {
    if (!is_worth_logging(line)) continue;
    surroundings_.log->warning("mps daemon says", {{"daemon", plan_.name}, {"line", line}});
  }
}

}  // namespace tranche
