// SPDX-License-Identifier: Apache-2.0
#include "testbed/driver/live_world.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/path.h"
#include "os/errno_error.h"
#include "testbed/world/parse.h"

namespace tranche::testbed::sim {
namespace {

// A change is noticed at once through inotify. Where that misses one (other
// file systems' upper layers) or is not to be had (no instances left), at most
// so much later. A driver that waits costs nothing, nor should this one.
constexpr std::chrono::milliseconds kTickBesideWatch(500);
constexpr std::chrono::milliseconds kTickWithoutWatch(50);

Result<std::string> read_all(int fd, const std::string& path) {
  std::string content;
  std::array<char, 65536> buffer{};
  while (true) {
    // Under the lock: who comes meanwhile wants this very content.
    // NOLINTNEXTLINE(clang-analyzer-unix.BlockInCriticalSection)
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno_error("reading " + path);
    if (count == 0) return content;
    content.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace

Result<Snapshot> LiveWorld::now() {
  const std::optional<FileIdentity> stamp = file_identity(path_);
  std::unique_lock lock(mutex_);
  if (loaded_ && stamp && stamp == stamp_) return *loaded_;
  return load(lock);
}

Result<Snapshot> LiveWorld::load(std::unique_lock<std::mutex>&) {
  UniqueFd file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  const std::optional<FileIdentity> stamp = file_identity(file.get());
  if (!stamp) {
    stamp_.reset();
    return errno_error("opening the simulated driver's world " + path_);
  }
  // Another thread may have loaded it while this one waited for the lock.
  if (loaded_ && stamp_ == stamp) return *loaded_;
  const Result<std::string> text = read_all(file.get(), path_);
  Result<World> world = text ? parse_world(*text, path_) : Result<World>(text.error());
  if (!world) {
    // Once for each content: the caller only gets a number.
    std::fprintf(stderr, "simulated driver: %s\n", world.error().message.c_str());
    loaded_ = Result<Snapshot>(world.error());
  } else {
    loaded_ = Result<Snapshot>(std::make_shared<const World>(std::move(*world)));
  }
  file_ = std::move(file);
  stamp_ = stamp;
  return *loaded_;
}

void LiveWorld::wait(const Snapshot& seen, Time until) {
  const UniqueFd watch(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  const bool is_watched =
      watch && ::inotify_add_watch(watch.get(), parent_of(path_).c_str(),
                                   IN_MOVED_TO | IN_CLOSE_WRITE | IN_CREATE | IN_DELETE) >= 0;
  const auto tick = is_watched ? kTickBesideWatch : kTickWithoutWatch;
  while (true) {
    // First here too: it may have changed before the watch stood.
    const Result<Snapshot> current = now();
    if (!current || *current != seen) return;
    const auto left = until - std::chrono::steady_clock::now();
    if (left <= left.zero()) return;
    const auto patience = std::min(tick, std::chrono::ceil<std::chrono::milliseconds>(left));
    pollfd wanted{.fd = watch.get(), .events = POLLIN};
    ::poll(&wanted, 1, static_cast<int>(patience.count()));
    std::array<char, 4096> ignored{};
    while (watch && ::read(watch.get(), ignored.data(), ignored.size()) > 0) {
    }
  }
}

}  // namespace tranche::testbed::sim
