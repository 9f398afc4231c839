// SPDX-License-Identifier: Apache-2.0
//
// Watches any number of files and folders and reports that something happened to one of them. It
// does not say what: callers read everything again anyway.
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

  // Watches exactly these paths. Skips missing ones: to wait for one, watch its parent folder.
  // False if the kernel refuses a watch on an existing path because of its limit.
  bool set(const std::vector<std::string>& paths);

  // Readable when drain() would return true; -1 if the kernel allows no watch.
  int fd() const { return fd_.get(); }
  // Whether anything happened since the last call. Never blocks.
  bool drain();

 private:
  UniqueFd fd_;
  std::map<std::string, int> watches_;
};

}  // namespace tranche::os
