// SPDX-License-Identifier: Apache-2.0
//
// Finds, queries and ends a daemon.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/mps/mps_plan.h"
#include "core/mps/mps_timings.h"
#include "node/mps/driver_programs.h"
#include "os/child_process.h"

namespace tranche::node {

// The running daemon that matches the plan, whoever started it.
std::optional<Process> find_daemon(const MpsDaemonPlan& plan);

// The daemon and its servers.
std::vector<pid_t> processes_of(const MpsDaemonPlan& plan);

// The control program's output for the question.
Result<std::string> ask_daemon(const DriverPrograms& programs, const MpsDaemonPlan& plan,
                               const std::string& question, std::chrono::milliseconds patience);

// Asks the daemon to quit, gives its clients their time, and kills what is left of it and its
// servers: a daemon that dies can leave its server behind. Reaps `process` if it is the daemon.
void end_daemon(const DriverPrograms& programs, const MpsDaemonPlan& plan,
                const MpsTimings& timings, Process& process);

}  // namespace tranche::node
