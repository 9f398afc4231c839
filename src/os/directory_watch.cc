// SPDX-License-Identifier: Apache-2.0
#include "os/directory_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <optional>

#include "os/errno_error.h"

namespace tranche::os {
namespace {

constexpr std::uint32_t kGone = IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED;

std::optional<DirectoryWatch::Event> translate(const inotify_event& event, const char* name) {
  using Kind = DirectoryWatch::Kind;
  if ((event.mask & (kGone | IN_Q_OVERFLOW)) != 0) return {{Kind::kDirectoryGone, ""}};
  if ((event.mask & (IN_CREATE | IN_MOVED_TO)) != 0) return {{Kind::kAppeared, name}};
  if ((event.mask & (IN_DELETE | IN_MOVED_FROM)) != 0) return {{Kind::kVanished, name}};
  if ((event.mask & IN_CLOSE_WRITE) != 0) return {{Kind::kWritten, name}};
  return std::nullopt;
}

}  // namespace

Result<DirectoryWatch> DirectoryWatch::open(const std::string& directory) {
  UniqueFd fd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!fd) return errno_error("inotify");
  constexpr std::uint32_t kMask = IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_MOVED_FROM |
                                  IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
  if (::inotify_add_watch(fd.get(), directory.c_str(), kMask) < 0) {
    return errno_error("watching " + directory);
  }
  return DirectoryWatch(std::move(fd));
}

std::vector<DirectoryWatch::Event> DirectoryWatch::drain() {
  std::vector<Event> events;
  alignas(inotify_event) std::array<char, 16384> buffer{};
  while (true) {
    const ssize_t count = ::read(fd_.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return events;
    for (std::size_t at = 0; at < static_cast<std::size_t>(count);) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof(event));
      const char* name = event.len > 0 ? buffer.data() + at + sizeof(event) : "";
      if (auto translated = translate(event, name)) events.push_back(std::move(*translated));
      at += sizeof(event) + event.len;
    }
  }
}

}  // namespace tranche::os
