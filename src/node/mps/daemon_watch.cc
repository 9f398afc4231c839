// SPDX-License-Identifier: Apache-2.0
//
// The watch over a running daemon: queries, test clients, and waiting while it does not answer.
#include <fmt/core.h>

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

// Between two checks of a running test client.
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
    // Many commands in a row cause one report and one check.
    if (foreign_commands_ > 0 && Clock::now() >= next_report) {
      report_foreign_commands();
      next_report = Clock::now() + timings_.least_backoff;
      next_look = Clock::now();
    }
    const bool with_canary = Clock::now() >= next_canary;
    const bool with_look = with_canary || Clock::now() >= next_look;
    Status fine = check(with_look, with_canary);
    if (!fine && !process_.has_ended()) fine = check_again(fine.error());
    // The end is the reason, not the failed query.
    if (!fine && process_.has_ended()) return ended_error();
    // Without the driver's programs a query fails, which is no fault of the daemon.
    if (!fine && find_programs(surroundings_.places)) return fine;
    // A restart would not help and would end the clients.
    if (fine && !mode_problem_.empty()) {
      report_trouble(mode_problem_);
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
  for (bool retried = false; !fine && !process_.has_ended() && goal() == Goal::kRun;) {
    if (is_silent_) {
      if (Status answers = handle_no_answer(fine.error()); !answers) return answers;
    } else if (is_recovering_ && Clock::now() < recovered) {
      if (!pause_and_retry(fine.error())) return fine;
    } else {
      if (retried ? !is_spared(fine.error()) : !pause_and_retry(fine.error())) return fine;
      retried = true;
    }
    fine = check(true, true);
  }
  return fine;
}

void MpsDaemon::report_foreign_commands() {
  surroundings_.log->warning("mps daemon got a command from another program",
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
    surroundings_.log->warning("mps limit was changed by another program; set it again",
                               {{"daemon", plan_.name}, {"change", change}});
  }
  return Done{};
}

void MpsDaemon::check_compute_mode() {
  const auto changed = renew_compute_mode(plan_, surroundings_.compute_mode);
  mode_problem_ = changed ? "" : changed.error().message;
  if (!changed) return;
  for (const std::string& uuid : *changed) {
    surroundings_.log->warning("compute mode was changed by another program; set it again",
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
  if (!text.empty() && text != logged_root_clients_) {
    surroundings_.log->warning(
        "mps clients run as root although mps.clients is non-root; limits do not hold for them",
        {{"daemon", plan_.name}, {"clients", text}});
  }
  logged_root_clients_ = text;
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
  if (no_library_logged_) return Done{};
  HeldThroughout looks;
  const CanaryVerdict verdict = run_canary(looks);
  is_recovering_ = verdict.not_ready;
  is_hanging_ = verdict.hangs;
  if (verdict.no_library) {
    no_library_logged_ = true;
    surroundings_.log->warning("mps daemons are not tested with a client",
                               {{"daemon", plan_.name}, {"reason", verdict.problem}});
    return Done{};
  }
  if (goal() != Goal::kRun) return Done{};
  if (process_.has_ended()) return ended_error();
  const std::optional<HeldConnection>& held = looks.held();
  if (!verdict.through && held) {
    // The client waited for another connection: that says nothing about the server.
    is_silent_ = true;
    return mps_trouble(describe(*held));
  }
  if (!verdict.through) return mps_trouble(verdict.problem);
  // A client that does not find the daemon silently runs without it.
  const Result<std::string> servers = ask("get_server_list");
  if (!servers) return servers.error();
  if (parse_pids(*servers).empty()) return mps_trouble("a client ran, but not through the daemon");
  return Done{};
}

CanaryVerdict MpsDaemon::run_canary(HeldThroughout& looks) {
  const Clock::time_point deadline = Clock::now() + timings_.client;
  return trial_.run(canary_command(programs_, plan_, surroundings_.places),
                    plan_.folder + "/canary", [&](const Process& client) {
                      if (Clock::now() >= deadline || goal() != Goal::kRun) return false;
                      const auto next = std::min(deadline, Clock::now() + kLookAtTrial);
                      if (wait_until(next, &client) == Event::kEnded) return false;
                      std::optional<HeldConnection> held = find_held_connection(process_);
                      holding_.observe(held, Clock::now());
                      looks.observe(std::move(held));
                      // A client may be waiting for a higher limit.
                      return static_cast<bool>(apply_limits());
                    });
}

bool MpsDaemon::is_spared(const Error& trouble) {
  if (!is_hanging_) return false;
  const Silence silence = look_at_silent_daemon(process_);
  if (should_restart(silence)) return false;
  return pause_and_retry({trouble.code, describe(silence, trouble.message)});
}

Status MpsDaemon::handle_no_answer(const Error& first) {
  for (bool retried = false; goal() == Goal::kRun; retried = true) {
    const Silence silence = look_at_silent_daemon(process_);
    if (process_.has_ended()) return ended_error();
    report_trouble(describe(silence, first.message));
    // Without the driver's programs a query fails, which is no fault of the daemon.
    if (retried && should_restart(silence) && find_programs(surroundings_.places)) {
      return mps_trouble(describe(silence, first.message));
    }
    if (!end_holders(silence)) pause();
    if (process_.has_ended()) return ended_error();
    if (ask("get_server_list")) return Done{};
  }
  return mps_trouble("stopping");
}

bool MpsDaemon::end_holders(const Silence& silence) {
  const HoldingTime::Due due = holding_.observe(silence.held, Clock::now());
  if (!silence.held || !due.connection || !status().rules.end_holders) return false;
  const HeldConnection& held = *silence.held;
  if (kill_holders(held, due.persistent)) return true;
  const bool ended = end_connection(process_, held);
  if (ended) {
    holding_.note_ended(held);
    surroundings_.log->warning("closed a connection that kept the mps daemon from answering",
                               {{"daemon", plan_.name}, {"holder", holders_text(held)}});
    set_state(MpsState::kTrouble, describe(held) + "; the agent closed the connection");
  }
  return ended || kill_holders(held, due.holders);
}

bool MpsDaemon::kill_holders(const HeldConnection& held, const std::vector<ProcessFacts>& holders) {
  bool killed = false;
  for (const ProcessFacts& holder : holders) {
    if (!end_holder(process_, held, holder)) continue;
    killed = true;
    surroundings_.log->warning("killed a process that kept the mps daemon from answering",
                               {{"daemon", plan_.name}, {"process", describe(holder)}});
    set_state(MpsState::kTrouble,
              fmt::format("{}; the agent killed {}", describe(held), describe(holder)));
  }
  return killed;
}

void MpsDaemon::pause() {
  const Clock::time_point until = Clock::now() + timings_.least_backoff;
  while (goal() == Goal::kRun && wait_until(until) == Event::kWoken) {
  }
}

void MpsDaemon::report_trouble(const std::string& problem) {
  const MpsDaemonStatus before = status();
  set_state(MpsState::kTrouble, problem);
  // Logged once: it may last, for example while the driver's package is replaced.
  const std::string_view what = "mps daemon may be in trouble";
  if (before.state == MpsState::kTrouble && before.last_problem == problem) {
    surroundings_.log->debug(what, {{"daemon", plan_.name}, {"problem", problem}});
  } else {
    surroundings_.log->warning(what, {{"daemon", plan_.name}, {"problem", problem}});
  }
}

bool MpsDaemon::pause_and_retry(const Error& first) {
  report_trouble(first.message);
  pause();
  return !process_.has_ended() && goal() == Goal::kRun;
}

}  // namespace tranche::node
