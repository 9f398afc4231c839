// SPDX-License-Identifier: Apache-2.0
//
// The standard output of a daemon: a named pipe that the daemon itself holds open at both ends
// and that never blocks it. It keeps writing when no agent reads, loses what does not fit, and
// the next agent continues reading. (An ordinary pipe would end it with SIGPIPE when the agent
// exits, a file would grow for ever.)
//
// Not thread-safe: belongs to the thread that polls fd().
#pragma once

#include <deque>
#include <string>

#include "base/result.h"
#include "os/unique_fd.h"

namespace tranche::os {

class DaemonOutput {
 public:
  // Creates the pipe if it is missing, and opens it for reading.
  static Result<DaemonOutput> open(const std::string& path);
  // For the daemon.
  Result<UniqueFd> writing_end() const;

  int fd() const { return read_.get(); }
  // Complete lines since the last call, at most the newest 100.
  std::deque<std::string> take_lines();
  // The last line so far; empty if there was none.
  const std::string& last_line() const { return last_; }

 private:
  std::string path_;
  UniqueFd read_;
  std::string part_;
  std::string last_;
};

}  // namespace tranche::os
