// SPDX-License-Identifier: Apache-2.0
//
// Starts, awaits and kills other programs. posix_spawn is safe with other threads. A program
// usually gets its own session, so that signals from a terminal or a service manager to us do not
// reach it.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/unique_fd.h"

namespace tranche::os {

// The environment of this process, and a list of it for a command.
std::map<std::string, std::string> own_environment();
std::vector<std::string> environment_list(const std::map<std::string, std::string>& variables);

struct Command {
  // The first is the program's path, or a name without "/" that is in our PATH.
  std::vector<std::string> words;
  std::vector<std::string> environment;  // "NAME=value"; nothing else is inherited
  bool own_session = true;               // else a terminal's Ctrl-C ends it with us

  bool operator==(const Command&) const = default;
};

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};
// Neither end is inherited.
Result<Pipe> make_pipe();

// A program's standard input, output and error; -1 is /dev/null.
struct Streams {
  int in = -1;
  int out = -1;
  int err = -1;
};

// A process that this agent or an earlier one started. Destroying the object does not end the
// process.
class Process {
 public:
  Process() = default;
  static Result<Process> spawn(const Command& command, const Streams& streams);
  // The process that has this pid now. Pids are reused, so check afterwards that it is the
  // expected process.
  static Process of(pid_t pid);

  pid_t pid() const { return pid_; }
  explicit operator bool() const { return pid_ > 0; }
  // Readable once the process has ended; -1 on a kernel without pidfd_open (before 5.3).
  int fd() const { return fd_.get(); }

  // Reaps a child that has ended.
  bool has_ended();
  // The exit code of a reaped child; empty if a signal ended it.
  std::optional<int> exit_code() const { return exit_code_; }
  // "exit code 1", "signal 9", or "" if unknown.
  const std::string& ending() const { return ending_; }
  // Waits until the process has ended; false after `patience`.
  bool wait(std::chrono::milliseconds patience);
  // Uses the pidfd, so that a reused pid is not hit. A kernel without pidfds signals the pid.
  void kill(int signal = SIGKILL) const;

 private:
  pid_t pid_ = 0;
  UniqueFd fd_;
  bool ended_ = false;
  std::optional<int> exit_code_;
  std::string ending_;
};

struct Finished {
  std::optional<int> exit_code;  // empty: killed by us after `patience`, or by another process
  std::string out;
  std::string err;
};

// Runs a program to its end with `input`, and kills it after `patience`. Keeps at most 64 KiB of
// each output.
Result<Finished> run_program(const Command& command, const std::string& input,
                             std::chrono::milliseconds patience);

// Processes with NAME=value in their initial environment and `word` in one of their arguments.
// Misses processes that /proc does not let us read or that are just being started.
std::vector<pid_t> find_processes(const std::string& variable, const std::string& word);
bool is_process(pid_t pid, const std::string& variable, const std::string& word);
// Opens the process, then checks it; empty if the pid belongs to another process by now.
std::optional<Process> open_process(pid_t pid, const std::string& variable,
                                    const std::string& word);
// The variable in the initial environment of process `pid`; empty if it has none.
std::optional<std::string> variable_of(pid_t pid, const std::string& name);

}  // namespace tranche::os
