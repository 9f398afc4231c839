// SPDX-License-Identifier: Apache-2.0
#include "apps/config_watch.h"

#include <sys/stat.h>

#include <algorithm>
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
  const auto is_gone = [](const DirectoryWatch::Event& event) {
    return event.kind == DirectoryWatch::Kind::kDirectoryGone;
  };
  if (watch_ && std::ranges::any_of(watch_->drain(), is_gone)) watch_.reset();
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
