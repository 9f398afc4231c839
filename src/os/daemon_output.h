// SPDX-License-Identifier: Apache-2.0
//
// What a daemon writes to its standard output. A named pipe that the daemon
// itself holds open at both ends and that never blocks it: it goes on writing
// when no agent reads, loses what does not fit, and the next agent reads on.
// (An ordinary pipe would end it with SIGPIPE as soon as we are gone, a file
// would grow for ever.)
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
  // Makes the pipe where it is not there yet, and opens it for reading.
  static Result<DaemonOutput> open(const std::string& path);
  // What to give to the daemon.
  Result<UniqueFd> writing_end() const;

  int fd() const { return read_.get(); }
  // Whole lines that came since the last call, at most the newest 100.
  std::deque<std::string> take_lines();
  // The last line of all; empty when there was none.
  const std::string& last_line() const { return last_; }

 private:
  std::string path_;
  UniqueFd read_;
  std::string part_;
  std::string last_;
};

}  // namespace tranche::os
