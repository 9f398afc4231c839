// SPDX-License-Identifier: Apache-2.0
#include "bench/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "os/errno_error.h"

namespace tranche::bench {

Child::Child(pid_t pid, UniqueFd handle, Clock::time_point started)
    : pid_(pid), handle_(std::move(handle)), started_(started) {}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      handle_(std::move(other.handle_)),
      started_(other.started_) {}

Child::~Child() { kill(); }

void Child::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(std::exchange(pid_, -1), nullptr, 0);
}

Result<Child> Child::start(std::vector<std::string> command, const std::string& output) {
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions{};
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(),
                                     O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t pid = -1;
  const Clock::time_point started = Clock::now();
  const int failed = ::posix_spawn(&pid, words[0], &actions, nullptr, words.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return errno_error("starting " + command[0], failed);
  // Ours until it is reaped, so the number cannot be another process's.
  UniqueFd handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  Child child(pid, std::move(handle), started);
  if (!child.handle_) return errno_error("pidfd_open");
  return child;
}

Result<std::chrono::nanoseconds> Child::stop(std::chrono::milliseconds patience) {
  const Clock::time_point asked = Clock::now();
  ::kill(pid_, SIGTERM);
  pollfd ended{handle_.get(), POLLIN, 0};
  if (::poll(&ended, 1, static_cast<int>(patience.count())) != 1) {
    Error error{ErrorCode::kUnavailable, "process " + std::to_string(pid_) + " does not end"};
    kill();
    return error;
  }
  const Clock::time_point gone = Clock::now();
  int status = 0;
  ::waitpid(std::exchange(pid_, -1), &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return Error{ErrorCode::kInternal, "it did not end with success"};
  }
  return gone - asked;
}

}  // namespace tranche::bench
