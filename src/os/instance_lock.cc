// SPDX-License-Identifier: Apache-2.0
#include "os/instance_lock.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "base/result.h"
#include "os/errno_error.h"
#include "os/file_identity.h"
#include "os/signals.h"

namespace tranche::os {
namespace {

// Polled, because a blocking lock call would not see a signal.
constexpr std::chrono::milliseconds kTryAgain{200};

// Whether the open file is still at the path: the kubelet empties its folder when it starts.
bool is_at(const std::string& path, int fd) {
  return is_same_file(file_identity(path), file_identity(fd));
}

// The lock file and the message while waiting.
struct Lock {
  std::string path;
  int flags = 0;  // of open()
  const char* waiting = nullptr;
};

// An empty descriptor: a signal asks us to exit.
Result<UniqueFd> wait_for_lock(const Lock& lock, const UniqueFd& signals, Log& log) {
  const std::string& path = lock.path;
  bool has_waited = false;
  while (true) {
    UniqueFd fd(::open(path.c_str(), lock.flags | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd) return errno_error("opening the lock " + path);
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) {
      if (!is_at(path, fd.get())) continue;
      if (has_waited) log.info("the other agent has ended", {{"lock", path}});
      return fd;
    }
    if (errno != EWOULDBLOCK && errno != EINTR) return errno_error("locking " + path);
    if (!has_waited) {
      log.info(lock.waiting, {{"lock", path}});
    }
    has_waited = true;
    if (asks_to_end(signals, kTryAgain)) return UniqueFd();
  }
}

}  // namespace

InstanceLock take_instance_lock(const std::string& path, const UniqueFd& signals, Log& log) {
  if (path.empty()) return {};
  Result<UniqueFd> taken = wait_for_lock(
      {path, O_RDWR | O_CREAT, "another agent is running on this node; waiting until it ends"},
      signals, log);
  if (!taken) {
    log.error("cannot take the lock that --enable-flock-wait asks for",
              {{"reason", taken.error().message}});
    return {.exit_code = 1};
  }
  UniqueFd fd = *std::move(taken);
  if (!fd) return {.exit_code = 0};
  return {.fd = std::move(fd)};
}

InstanceLock lock_state_folder(const std::string& folder, const UniqueFd& signals, Log& log) {
  Result<UniqueFd> taken =
      wait_for_lock({folder, O_RDONLY | O_DIRECTORY,
                     "another agent serves this node's GPUs; waiting until it ends"},
                    signals, log);
  if (!taken) {
    log.warning("the state folder cannot be locked; a second agent on this node would not wait",
                {{"reason", taken.error().message}});
    return {};
  }
  UniqueFd fd = *std::move(taken);
  if (!fd) return {.exit_code = 0};
  return {.fd = std::move(fd)};
}

}  // namespace tranche::os
