// SPDX-License-Identifier: Apache-2.0
//
// Notices that a configuration file has changed, however it was done: written
// in place, replaced, or a link on the way to it swapped, as a ConfigMap does.
//
// Not thread-safe: belongs to the thread that polls fd().
#pragma once

#include <optional>
#include <string>

#include "base/directory_watch.h"

namespace tranche {

class ConfigWatch {
 public:
  // Takes the file as it is now for known. An empty path is never changed.
  explicit ConfigWatch(std::string path);

  // Readable when a look is worth it; -1 where nothing can be watched.
  int fd() const { return watch_ ? watch_->fd() : -1; }

  // Whether the file is another than at the last call. Also to be asked now and
  // then without news: the file behind a link may lie in a folder that is not
  // watched.
  bool changed();

 private:
  std::string fingerprint() const;

  const std::string path_;
  std::optional<DirectoryWatch> watch_;
  std::string known_;
};

}  // namespace tranche
