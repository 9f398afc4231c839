// SPDX-License-Identifier: Apache-2.0
//
// Watches a directory for names that appear, vanish or are rewritten. Always
// the directory and never a file in it: the kubelet replaces its socket and a
// ConfigMap update swaps a link, and a watch on the file would die with it.
//
// Not thread-safe: belongs to the thread that polls fd().
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "os/unique_fd.h"

namespace tranche::os {

class DirectoryWatch {
 public:
  enum class Kind { kAppeared, kVanished, kWritten, kDirectoryGone };
  struct Event {
    Kind kind;
    std::string name;  // within the directory; empty for kDirectoryGone
    bool operator==(const Event&) const = default;
  };

  static Result<DirectoryWatch> open(const std::string& directory);

  // Readable when drain() has something to give.
  int fd() const { return fd_.get(); }

  // What happened since the last call, in order. Never blocks. When events were
  // lost to an overflow, says kDirectoryGone: look at everything again.
  std::vector<Event> drain();

 private:
  explicit DirectoryWatch(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
};

}  // namespace tranche::os
