// SPDX-License-Identifier: Apache-2.0
//
// A daemon seen from outside: whether it runs, what it answers, and its end.
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

// The daemon that runs as the plan wants it, whoever started it.
std::optional<Process> find_daemon(const MpsDaemonPlan& plan);

// The daemon and its servers.
std::vector<pid_t> processes_of(const MpsDaemonPlan& plan);

// What the driver's control program prints for the question.
Result<std::string> ask_daemon(const DriverPrograms& programs, const MpsDaemonPlan& plan,
                               const std::string& question, std::chrono::milliseconds patience);

// Asks the daemon to end, gives its clients their time, and kills what is left
// of it and its servers: a daemon that dies can leave its server behind.
// `process` is reaped where it is the daemon.
void end_daemon(const DriverPrograms& programs, const MpsDaemonPlan& plan,
                const MpsTimings& timings, Process& process);

}  // namespace tranche::node
