// SPDX-License-Identifier: Apache-2.0
//
// Other programs: starting one, waiting for one, ending one. Started with
// posix_spawn, which is safe beside other threads, usually each in a session of
// its own, so that no signal of a terminal or a service manager meant for us is
// for it too.
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

// What a program's standard input, output and error are; /dev/null where -1.
struct Streams {
  int in = -1;
  int out = -1;
  int err = -1;
};

// A process that was started by us, or by an agent before us. Letting go of
// one does not end it.
class Process {
 public:
  Process() = default;
  static Result<Process> spawn(const Command& command, const Streams& streams);
  // The process that has the number now. Whoever means a certain process checks
  // that it is the one after this, because numbers are used again.
  static Process of(pid_t pid);

  pid_t pid() const { return pid_; }
  explicit operator bool() const { return pid_ > 0; }
  // Readable once it has ended; -1 on a kernel without pidfd_open (before 5.3).
  int fd() const { return fd_.get(); }

  // True when it has ended. A child is reaped then.
  bool has_ended();
  // Of a child that was reaped: its exit code, or empty where a signal ended it.
  std::optional<int> exit_code() const { return exit_code_; }
  // "exit code 1", "signal 9", or "" where it is not known.
  const std::string& ending() const { return ending_; }
  // Waits until it has ended; false when patience is over first.
  bool wait(std::chrono::milliseconds patience);
  // By pidfd, so that no other process that got the number is hit. A kernel
  // without pidfds sends it to the number.
  void kill(int signal = SIGKILL) const;

 private:
  pid_t pid_ = 0;
  UniqueFd fd_;
  bool ended_ = false;
  std::optional<int> exit_code_;
  std::string ending_;
};

struct Finished {
  std::optional<int> exit_code;  // empty: killed, because patience was over or by another
  std::string out;
  std::string err;
};

// Runs a program to its end, gives it `input`, and kills it when patience is
// over. At most 64 KiB of each output are kept.
Result<Finished> run_program(const Command& command, const std::string& input,
                             std::chrono::milliseconds patience);

// Processes that were started with NAME=value in their environment and with
// `word` in one of their arguments. Only those that /proc lets us read, and not
// one that is just being started.
std::vector<pid_t> find_processes(const std::string& variable, const std::string& word);
// Whether the process is such a one.
bool is_process(pid_t pid, const std::string& variable, const std::string& word);
// Opens the process and checks after that what it is; empty: it is another by now.
std::optional<Process> open_process(pid_t pid, const std::string& variable,
                                    const std::string& word);
// The variable as process `pid` was started with; empty where it has none.
std::optional<std::string> variable_of(pid_t pid, const std::string& name);

}  // namespace tranche::os
