// SPDX-License-Identifier: Apache-2.0
//
// A program under measurement. Its output goes to a file, so that nobody has to
// be woken to read it. It is killed and reaped with this object.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/unique_fd.h"

namespace tranche::bench {

using Clock = std::chrono::steady_clock;

class Child {
 public:
  // `command` has the program's path first.
  static Result<Child> start(std::vector<std::string> command, const std::string& output);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();

  pid_t pid() const { return pid_; }
  Clock::time_point started() const { return started_; }

  // Asks it to end with SIGTERM; how long that took. Fails when it does not end
  // in time, and is killed then, or not with success.
  Result<std::chrono::nanoseconds> stop(std::chrono::milliseconds patience);

 private:
  Child(pid_t pid, UniqueFd handle, Clock::time_point started);
  void kill();

  pid_t pid_;  // -1: reaped
  UniqueFd handle_;
  Clock::time_point started_;
};

}  // namespace tranche::bench
