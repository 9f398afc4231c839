// SPDX-License-Identifier: Apache-2.0
#include "node/mps/control_program.h"

#include <fmt/core.h>

#include <utility>
#include <vector>

#include "base/text.h"
#include "os/files.h"

namespace tranche::node {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Time for killed processes to end; one in a driver call takes long.
constexpr milliseconds kDying{5'000};
constexpr milliseconds kOneDying{500};
// In the arguments of daemon and server alike.
constexpr const char* kAnyProgram = "nvidia-cuda-mps-";

std::string pipe_variable(const MpsDaemonPlan& plan) {
  return "CUDA_MPS_PIPE_DIRECTORY=" + plan.pipe();
}

Error unanswered(std::string message) { return {ErrorCode::kUnavailable, std::move(message)}; }

}  // namespace

std::optional<Process> find_daemon(const MpsDaemonPlan& plan) {
  // Containers may write into a pipe folder of NVIDIA's layout: a named pipe there must not block
  // us.
  const Result<std::string> text =
      read_plain_file(fmt::format("{}/{}.pid", plan.pipe(), kControlProgram), 64);
  const std::optional<pid_t> pid = text ? parse_number<pid_t>(trim(*text)) : std::nullopt;
  if (!pid) return std::nullopt;
  // Another process may have this pid by now.
  std::optional<Process> process = open_process(*pid, pipe_variable(plan), kControlProgram);
  if (!process) return std::nullopt;
  if (variable_of(*pid, "CUDA_VISIBLE_DEVICES") != join(plan.devices, ",")) return std::nullopt;
  return process;
}

std::vector<pid_t> processes_of(const MpsDaemonPlan& plan) {
  return find_processes(pipe_variable(plan), kAnyProgram);
}

Result<std::string> ask_daemon(const DriverPrograms& programs, const MpsDaemonPlan& plan,
                               const std::string& question, milliseconds patience) {
  const Result<Finished> answer =
      run_program(question_command(programs, plan.pipe()), question + "\n", patience);
  if (!answer) return answer.error();
  const std::optional<int> exit_code = answer->exit_code;
  if (!exit_code) return unanswered(fmt::format("the MPS daemon does not answer '{}'", question));
  if (*exit_code != 0) {
    return unanswered("cannot query the MPS daemon: " + printable(trim(answer->err)));
  }
  return answer->out;
}

void end_daemon(const DriverPrograms& programs, const MpsDaemonPlan& plan,
                const MpsTimings& timings, Process& process) {
  const std::string variable = pipe_variable(plan);
  const bool can_ask = !programs.control.empty();
  if (can_ask && !find_processes(variable, kControlProgram).empty()) {
    // Plain `quit` waits for clients without limit.
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(timings.drain);
    const auto quit = ask_daemon(programs, plan, fmt::format("quit -t {}", seconds.count()),
                                 seconds + timings.answer);
    if (quit && process) process.wait(timings.answer);
  }
  const Clock::time_point deadline = Clock::now() + kDying;
  std::vector<pid_t> left = find_processes(variable, kAnyProgram);
  while (!left.empty() && Clock::now() < deadline) {
    for (const pid_t pid : left) {
      std::optional<Process> one = open_process(pid, variable, kAnyProgram);
      if (!one) continue;
      one->kill();
      one->wait(kOneDying);
    }
    left = find_processes(variable, kAnyProgram);
  }
  // A process that has just started has no arguments to be found by yet.
  if (process && !process.has_ended()) {
    process.kill();
    process.wait(kDying);
  }
}

}  // namespace tranche::node
