// SPDX-License-Identifier: Apache-2.0
//
// A program run as a child process by a test: the agent, or any other binary.
// Its output is collected line by line while it runs, so that a test can wait
// for a line instead of sleeping. Whatever happens to the test, the child and
// its own children are killed and reaped with this object.
//
// Thread-safe.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "os/unique_fd.h"
#include "os/wake_fd.h"

namespace tranche::testbed::standin {

// How a process ended.
struct ProcessEnd {
  int exit_code = -1;  // -1: it was ended by a signal
  int signal = 0;

  bool operator==(const ProcessEnd&) const = default;
};
std::string to_string(const ProcessEnd& end);

class AgentProcess {
 public:
  struct Options {
    std::vector<std::string> command;  // program and arguments; found in PATH unless it has a "/"
    // Added to the test's own environment, or in its place.
    std::map<std::string, std::string> environment;
    bool inherits_environment = true;
  };

  enum class Stream { kOutput, kError };
  struct Line {
    Stream stream = Stream::kOutput;
    std::string text;  // without the newline
  };
  struct Match {
    std::size_t index = 0;            // of the line
    std::vector<std::string> groups;  // [0] is all that matched
  };

  static Result<std::unique_ptr<AgentProcess>> start(const Options& options);
  AgentProcess(const AgentProcess&) = delete;
  AgentProcess& operator=(const AgentProcess&) = delete;
  ~AgentProcess();

  pid_t pid() const { return pid_; }

  // Of both streams, in the order of arrival.
  std::vector<Line> lines() const;
  // The same as one text, for messages of failed tests.
  std::string output() const;

  // Waits for a line, from the one with this number on, in which the regular
  // expression matches. Fails with all output when patience is over, and at
  // once when the process has ended without such a line.
  Result<Match> wait_for_line(const std::string& regex, std::chrono::milliseconds patience,
                              std::size_t from = 0) const;

  // To its standard input; a newline is added.
  Status write_line(const std::string& text);
  void close_input();

  // Fails when it has ended.
  Status signal(int number) const;

  // Waits for its end. Fails with all output when patience is over.
  Result<ProcessEnd> wait_for_end(std::chrono::milliseconds patience) const;

 private:
  AgentProcess(pid_t pid, UniqueFd input, UniqueFd output, UniqueFd error);
  void read_streams();
  void wait_until_ended();
  std::optional<Match> find_line(const std::regex& expression, std::size_t from) const;

  // Ours until the destructor reaps the process: the number is not given away
  // before.
  const pid_t pid_;
  const UniqueFd output_;
  const UniqueFd error_;
  const WakeFd stop_reading_;

  std::mutex input_mutex_;
  UniqueFd input_;  // guarded by input_mutex_

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  // Guarded by mutex_.
  std::vector<Line> lines_;
  bool is_drained_ = false;  // no more lines will come
  std::optional<ProcessEnd> end_;

  std::thread reader_;
  std::thread waiter_;
};

}  // namespace tranche::testbed::standin
