// SPDX-License-Identifier: Apache-2.0
//
// Watches a directory for names that appear, vanish or are rewritten. It watches the directory
// and not a file in it, because the kubelet replaces its socket and a ConfigMap update swaps a
// link: a watch on the file would die with it.
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

  // Events since the last call, in order. Never blocks. Returns kDirectoryGone if events were
  // lost to an overflow: check everything again.
  std::vector<Event> drain();

 private:
  explicit DirectoryWatch(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
};

}  // namespace tranche::os
