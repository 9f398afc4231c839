// SPDX-License-Identifier: Apache-2.0
#include "os/paths_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <set>
#include <utility>

namespace tranche::os {
namespace {

// Not IN_MODIFY: IN_CLOSE_WRITE reports the finished file.
constexpr std::uint32_t kMask = IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_MOVED_FROM |
                                IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF;

}  // namespace

PathsWatch::PathsWatch() : fd_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {}

bool PathsWatch::set(const std::vector<std::string>& paths) {
  if (!fd_) return false;
  bool is_complete = true;
  // A path may lead to another file than before, so add each again. The kernel returns the same
  // number for the same file.
  std::map<std::string, int> next;
  std::set<int> kept;
  for (const std::string& path : paths) {
    const int watch = ::inotify_add_watch(fd_.get(), path.c_str(), kMask);
    if (watch < 0) {
      is_complete = is_complete && (errno == ENOENT || errno == ENOTDIR);
      continue;
    }
    next[path] = watch;
    kept.insert(watch);
  }
  for (const auto& [path, watch] : watches_) {
    if (!kept.contains(watch)) ::inotify_rm_watch(fd_.get(), watch);
  }
  watches_ = std::move(next);
  return is_complete;
}

bool PathsWatch::drain() {
  alignas(inotify_event) std::array<char, 16384> buffer{};
  bool is_news = false;
  while (fd_) {
    const ssize_t count = ::read(fd_.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    is_news = true;
  }
  return is_news;
}

}  // namespace tranche::os
