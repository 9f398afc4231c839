// SPDX-License-Identifier: Apache-2.0
//
// Watches any number of paths, files and folders, and says that something
// happened to one of them. What exactly is for the caller to look up: this is
// for those who read everything again anyway.
//
// Not thread-safe: belongs to the thread that polls fd().
#pragma once

#include <map>
#include <string>
#include <vector>

#include "os/unique_fd.h"

namespace tranche::os {

class PathsWatch {
 public:
  PathsWatch();

  // Watches these and no others. Those that are not there are passed over: whoever
  // waits for one watches the folder above it. False: one that is there cannot be
  // watched, because the kernel allows no more.
  bool set(const std::vector<std::string>& paths);

  // Readable when drain() would say true; -1 where the kernel allows no watch.
  int fd() const { return fd_.get(); }
  // Whether anything happened since the last call. Never blocks.
  bool drain();

 private:
  UniqueFd fd_;
  std::map<std::string, int> watches_;
};

}  // namespace tranche::os
