// SPDX-License-Identifier: Apache-2.0
#include "bench/child.h"

#include <fcntl.h>
#include <signal.h>

#include <utility>

#include "os/errno_error.h"

namespace tranche::bench {

Child::Child(Process process, Clock::time_point started)
    : process_(std::move(process)), started_(started) {}

Child::Child(Child&& other) noexcept
    : process_(std::exchange(other.process_, {})), started_(other.started_) {}

Child::~Child() {
  if (!process_) return;
  process_.kill();
  process_.wait(std::chrono::hours(1));
}

Result<Child> Child::start(const std::vector<std::string>& command, const std::string& output) {
  const UniqueFd file(::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file) return errno_error("opening " + output);
  const Clock::time_point started = Clock::now();
  Result<Process> process = Process::spawn(
      {.words = command, .environment = environment_list(own_environment()), .own_session = false},
      {.out = file.get(), .err = file.get()});
  if (!process) return process.error();
  Child child(*std::move(process), started);
  // Without it the end is noticed too late to be measured.
  if (child.process_.fd() < 0) return errno_error("pidfd_open");
  return child;
}

Result<std::chrono::nanoseconds> Child::stop(std::chrono::milliseconds patience) {
  const Clock::time_point asked = Clock::now();
  process_.kill(SIGTERM);
  if (!process_.wait(patience)) {
    return Error{ErrorCode::kUnavailable, "process " + std::to_string(pid()) + " does not end"};
  }
  const Clock::time_point gone = Clock::now();
  if (process_.exit_code() != 0) {
    return Error{ErrorCode::kInternal, "it did not end with success"};
  }
  return gone - asked;
}

}  // namespace tranche::bench
