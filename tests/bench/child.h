// SPDX-License-Identifier: Apache-2.0
//
// A program under measurement. Its output goes to a file, so that nobody has to
// be woken to read it. It is killed and reaped with this object.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/child_process.h"

namespace tranche::bench {

using Clock = std::chrono::steady_clock;

class Child {
 public:
  // `command` has the program's path first.
  static Result<Child> start(const std::vector<std::string>& command, const std::string& output);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();

  pid_t pid() const { return process_.pid(); }
  Clock::time_point started() const { return started_; }

  // Asks it to end with SIGTERM; how long that took. Fails when it does not end
  // in time, and is killed then, or not with success.
  Result<std::chrono::nanoseconds> stop(std::chrono::milliseconds patience);

 private:
  Child(Process process, Clock::time_point started);

  Process process_;  // none: moved from
  Clock::time_point started_;
};

}  // namespace tranche::bench
