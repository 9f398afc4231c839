// SPDX-License-Identifier: Apache-2.0
#include "apps/config_watch.h"

#include <sys/stat.h>

#include <utility>

#include "base/files.h"

namespace tranche {

ConfigWatch::ConfigWatch(std::string path) : path_(std::move(path)) {
  if (path_.empty()) return;
  known_ = fingerprint();
  changed();  // opens the watch
}

bool ConfigWatch::changed() {
  if (path_.empty()) return false;
  if (watch_) {
    for (const DirectoryWatch::Event& event : watch_->drain()) {
      if (event.kind == DirectoryWatch::Kind::kDirectoryGone) {
        watch_.reset();
        break;
      }
    }
  }
  if (!watch_) {
    if (auto opened = DirectoryWatch::open(parent_of(path_))) watch_ = *std::move(opened);
  }
  const std::string now = fingerprint();
  return std::exchange(known_, now) != now;
}

// Follows links: a file made anew differs in number or time.
std::string ConfigWatch::fingerprint() const {
  struct stat status{};
  if (::stat(path_.c_str(), &status) != 0) return "missing";
  return std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino) + ":" +
         std::to_string(status.st_size) + ":" + std::to_string(status.st_mtim.tv_sec) + "." +
         std::to_string(status.st_mtim.tv_nsec);
}

}  // namespace tranche
