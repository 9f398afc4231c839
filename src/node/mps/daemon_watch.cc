// SPDX-License-Identifier: Apache-2.0
//
// A daemon that is up: asked, tried with clients, and borne while it is silent.
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "core/mps/control_questions.h"
#include "node/mps/connection_holder.h"
#include "node/mps/control_program.h"
#include "node/mps/daemon.h"
#include "node/mps/process_table.h"

namespace tranche::node {
namespace {

// Between two looks at a client that tries the daemon.
constexpr std::chrono::milliseconds kLookAtTrial{500};

}  // namespace

Status MpsDaemon::watch() {
  Clock::time_point next_look = Clock::now() + timings_.look;
  Clock::time_point next_canary = Clock::now() + timings_.canary;
  Clock::time_point next_report = Clock::now();
  while (goal() == Goal::kRun) {
    Clock::time_point next = std::min(next_look, next_canary);
    if (foreign_commands_ > 0) next = std::min(next, next_report);
    if (wait_until(next) == Event::kEnded) return ended_error();
    if (goal() != Goal::kRun) break;
    // Whoever sends many is not reported, nor answered with a look, for each.
    if (foreign_commands_ > 0 && Clock::now() >= next_report) {
      report_foreign_commands();
      next_report = Clock::now() + timings_.least_backoff;
      next_look = Clock::now();
    }
    const bool with_canary = Clock::now() >= next_canary;
    const bool with_look = with_canary || Clock::now() >= next_look;
    Status fine = check(with_look, with_canary);
    if (!fine && !process_.has_ended()) fine = check_again(fine.error());
    // What a question in vain says is not why.
    if (!fine && process_.has_ended()) return ended_error();
    // Without the driver's programs nobody can ask, and nothing is known to be wrong.
    if (!fine && find_programs(surroundings_.host)) return fine;
    // A restart would not cure it, and end the clients.
    if (fine && !mode_problem_.empty()) {
      tell_trouble(mode_problem_);
    } else if (fine && status().state != MpsState::kReady) {
      surroundings_.log->info("mps daemon answers again", {{"daemon", plan_.name}});
      set_state(MpsState::kReady);
    }
    if (with_look) next_look = Clock::now() + timings_.look;
    if (with_canary) next_canary = Clock::now() + timings_.canary;
  }
  return Done{};
}

Status MpsDaemon::check(bool with_look, bool with_canary) {
  is_recovering_ = false;
  is_hanging_ = false;
  if (Status set = apply_limits(); !set) return set;
  if (with_look) {
    if (Status fine = look(); !fine) return fine;
  }
  return with_canary ? try_client() : Status(Done{});
}

Status MpsDaemon::check_again(const Error& first) {
  Status fine = first;
  const Clock::time_point recovered = Clock::now() + timings_.recover;
  for (bool asked_again = false; !fine && !process_.has_ended() && goal() == Goal::kRun;) {
    if (is_silent_) {
      if (Status answers = bear_silence(fine.error()); !answers) return answers;
    } else if (is_recovering_ && Clock::now() < recovered) {
      if (!may_be_asked_again(fine.error())) return fine;
    } else {
      if (asked_again ? !is_spared(fine.error()) : !may_be_asked_again(fine.error())) return fine;
      asked_again = true;
    }
    fine = check(true, true);
  }
  return fine;
}

void MpsDaemon::report_foreign_commands() {
  surroundings_.log->warning("mps daemon got a command that is not the agent's",
                             {{"daemon", plan_.name},
                              {"command", foreign_command_},
                              {"commands", std::to_string(foreign_commands_)}});
  change_status([&](MpsDaemonStatus& status) {
    status.foreign_commands += foreign_commands_;
    status.foreign_command = foreign_command_;
  });
  foreign_commands_ = 0;
}

Status MpsDaemon::renew(const std::vector<int>& servers) {
  MpsDaemonPlan plan = plan_;
  plan.limits = applied_;
  const auto changes =
      renew_limits([this](const std::string& it) { return ask(it); }, plan, servers);
  if (!changes) return changes.error();
  for (const std::string& change : *changes) {
    surroundings_.log->warning("mps limit was changed by somebody else and is set again",
                               {{"daemon", plan_.name}, {"change", change}});
  }
  return Done{};
}

void MpsDaemon::check_compute_mode() {
  const auto changed = renew_compute_mode(plan_, surroundings_.compute_mode);
  mode_problem_ = changed ? "" : changed.error().message;
  if (!changed) return;
  for (const std::string& uuid : *changed) {
    surroundings_.log->warning("compute mode was changed by somebody else and is set again",
                               {{"daemon", plan_.name}, {"gpu", uuid}});
  }
}

void MpsDaemon::look_at_clients(const std::vector<int>& pids) {
  std::vector<int> root;
  std::vector<std::string> named;
  bool sees_all = true;
  for (const int pid : pids) {
    const std::optional<ProcessFacts> facts = facts_of(pid);
    sees_all = sees_all && facts.has_value();
    if (!facts || !facts->may_be_root) continue;
    root.push_back(pid);
    named.push_back(describe(*facts));
  }
  const bool forbidden = status().rules.clients == MpsClients::kNonRoot;
  const std::string text = forbidden ? join(named, ", ") : "";
  if (!text.empty() && text != root_clients_told_) {
    surroundings_.log->warning(
        "mps clients run as root although mps.clients is non-root; limits do not hold for them",
        {{"daemon", plan_.name}, {"clients", text}});
  }
  root_clients_told_ = text;
  change_status([&](MpsDaemonStatus& status) {
    status.clients = static_cast<unsigned>(pids.size());
    status.root_clients = root;
    status.sees_clients = sees_all;
  });
}

Status MpsDaemon::look() {
  const auto seen = query_servers([this](const std::string& it) { return ask(it); });
  if (!seen) return seen.error();
  change_status([&](MpsDaemonStatus& status) {
    status.server_pid = seen->servers.empty() ? std::nullopt : std::optional(seen->servers.front());
  });
  look_at_clients(seen->clients);
  check_compute_mode();
  return renew(seen->servers);
}

Status MpsDaemon::try_client() {
  if (no_library_told_) return Done{};
  HeldThroughout looks;
  const CanaryVerdict verdict = run_canary(looks);
  is_recovering_ = verdict.not_ready;
  is_hanging_ = verdict.hangs;
  if (verdict.no_library) {
    no_library_told_ = true;
    surroundings_.log->warning("mps daemons are not tried with a client",
                               {{"daemon", plan_.name}, {"reason", verdict.problem}});
    return Done{};
  }
  if (goal() != Goal::kRun) return Done{};
  if (process_.has_ended()) return ended_error();
  const std::optional<HeldConnection>& held = looks.held();
  if (!verdict.through && held) {
    // The client waited behind somebody else: that says nothing of the server.
    is_silent_ = true;
    return mps_trouble(describe(*held));
  }
  if (!verdict.through) return mps_trouble(verdict.problem);
  // A client that does not find the daemon runs without it and says nothing.
  const Result<std::string> servers = ask("get_server_list");
  if (!servers) return servers.error();
  if (parse_pids(*servers).empty()) return mps_trouble("a client ran, but not through the daemon");
  return Done{};
}

CanaryVerdict MpsDaemon::run_canary(HeldThroughout& looks) {
  const Clock::time_point deadline = Clock::now() + timings_.client;
  return trial_.run(canary_command(programs_, plan_, surroundings_.host), plan_.folder + "/canary",
                    [&](const Process& client) {
                      if (Clock::now() >= deadline || goal() != Goal::kRun) return false;
                      const auto next = std::min(deadline, Clock::now() + kLookAtTrial);
                      if (wait_until(next, &client) == Event::kEnded) return false;
                      std::optional<HeldConnection> held = find_held_connection(process_);
                      holding_.observe(held, Clock::now());
                      looks.observe(std::move(held));
                      // Somebody may be waiting for more room just now.
                      return static_cast<bool>(apply_limits());
                    });
}

bool MpsDaemon::is_spared(const Error& trouble) {
  if (!is_hanging_) return false;
  const Silence silence = look_at_silent_daemon(process_);
  if (should_restart(silence)) return false;
  return may_be_asked_again({trouble.code, describe(silence, trouble.message)});
}

Status MpsDaemon::bear_silence(const Error& first) {
  for (bool asked_again = false; goal() == Goal::kRun; asked_again = true) {
    const Silence silence = look_at_silent_daemon(process_);
    if (process_.has_ended()) return ended_error();
    tell_trouble(describe(silence, first.message));
    // Without the driver's programs nobody can ask, and nothing is known to be wrong.
    if (asked_again && should_restart(silence) && find_programs(surroundings_.host)) {
      return mps_trouble(describe(silence, first.message));
    }
    if (!end_holders(silence)) pause();
    if (process_.has_ended()) return ended_error();
    if (ask("get_server_list")) return Done{};
  }
  return mps_trouble("it is to stop");
}

bool MpsDaemon::end_holders(const Silence& silence) {
  const HoldingTime::Due due = holding_.observe(silence.held, Clock::now());
  if (!silence.held || !due.connection || !status().rules.end_holders) return false;
  const HeldConnection& held = *silence.held;
  if (kill_holders(held, due.persistent)) return true;
  const bool ended = end_connection(process_, held);
  if (ended) {
    holding_.note_ended(held);
    surroundings_.log->warning("a connection kept the mps daemon from answering and was ended",
                               {{"daemon", plan_.name}, {"holder", holders_text(held)}});
    set_state(MpsState::kTrouble, describe(held) + "; the agent ended the connection");
  }
  return ended || kill_holders(held, due.holders);
}

bool MpsDaemon::kill_holders(const HeldConnection& held, const std::vector<ProcessFacts>& holders) {
  bool killed = false;
  for (const ProcessFacts& holder : holders) {
    if (!end_holder(process_, held, holder)) continue;
    killed = true;
    surroundings_.log->warning("a process kept the mps daemon from answering and was killed",
                               {{"daemon", plan_.name}, {"process", describe(holder)}});
    set_state(MpsState::kTrouble, describe(held) + "; the agent killed " + describe(holder));
  }
  return killed;
}

void MpsDaemon::pause() {
  const Clock::time_point until = Clock::now() + timings_.least_backoff;
  while (goal() == Goal::kRun && wait_until(until) == Event::kWoken) {
  }
}

void MpsDaemon::tell_trouble(const std::string& problem) {
  const MpsDaemonStatus before = status();
  set_state(MpsState::kTrouble, problem);
  // Told once: it may last, as while a driver's package is away.
  const std::string_view what = "mps daemon may be in trouble";
  if (before.state == MpsState::kTrouble && before.last_problem == problem) {
    surroundings_.log->debug(what, {{"daemon", plan_.name}, {"problem", problem}});
  } else {
    surroundings_.log->warning(what, {{"daemon", plan_.name}, {"problem", problem}});
  }
}

bool MpsDaemon::may_be_asked_again(const Error& first) {
  tell_trouble(first.message);
  pause();
  return !process_.has_ended() && goal() == Goal::kRun;
}

}  // namespace tranche::node
