// SPDX-License-Identifier: Apache-2.0
#include "node/mps/client_trial.h"

#include <fmt/core.h>

#include <chrono>
#include <utility>

#include "os/daemon_output.h"

namespace tranche::node {
namespace {

// Time for a killed process to end.
constexpr std::chrono::seconds kDying{5};

}  // namespace

CanaryVerdict ClientTrial::run(const Command& client, const std::string& place, const Wait& wait) {
  if (std::string problem = stuck(); !problem.empty()) {
    return {.problem = std::move(problem), .hangs = true};
  }
  Result<DaemonOutput> said = DaemonOutput::open(place);
  if (!said) return {.problem = said.error().message};
  const Result<UniqueFd> out = said->writing_end();
  if (!out) return {.problem = out.error().message};
  Result<Process> process = Process::spawn(client, {.out = out->get(), .err = out->get()});
  if (!process) return {.problem = process.error().message};
  while (!process->has_ended() && wait(*process)) {
  }
  if (!process->has_ended()) {
    process->kill();
    process->wait(kDying);
  }
  said->take_lines();
  CanaryVerdict verdict = judge_canary(process->exit_code(), said->last_line());
  if (!process->has_ended()) remember(*std::move(process));
  return verdict;
}

std::string ClientTrial::stuck() {
  if (!stuck_) return "";
  if (stuck_.has_ended()) {
    stuck_ = Process();
    return "";
  }
  return fmt::format(
      "the agent's test client (process {}) hangs in the driver and cannot be killed; no other is "
      "started until it ends, which may take a reset of the GPU or of the node",
      stuck_.pid());
}

}  // namespace tranche::node
