// SPDX-License-Identifier: Apache-2.0
#include "os/settings/config_watch.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/path.h"
#include "os/errno_error.h"
#include "os/files.h"
#include "os/settings/document.h"

namespace tranche::os {
namespace {

// Names in the folder, and the files behind them.
constexpr std::uint32_t kFolderMask = IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_MOVED_FROM |
                                      IN_MODIFY | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF |
                                      IN_ONLYDIR;
// The file, which may be in another folder behind links.
constexpr std::uint32_t kFileMask =
    IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF;

bool is_link(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
}

void describe(const struct stat& status, FileLook& look) {
  look.is_there = true;
  look.is_regular = S_ISREG(status.st_mode);
  look.identity = file_identity(status);
}

// Differs from every look at a real file.
FileLook file_with(const std::string& content) {
  FileLook look;
  look.is_there = true;
  look.is_regular = true;
  look.content = content;
  return look;
}

}  // namespace

ConfigWatch::ConfigWatch(std::string path, const std::string& in_force)
    : path_(std::move(path)),
      folder_(parent_of(path_)),
      name_(std::filesystem::path(path_).filename()),
      file_(file_with(in_force)) {
  if (path_.empty()) return;
  inotify_ = UniqueFd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  watch_again();
  // It may have changed since it was loaded.
  last_ = look();
  const bool is_pipe = last_.is_there && !last_.problem.empty() && !last_.is_regular;
  const bool is_same = last_.problem.empty() && last_.content == in_force;
  if (is_pipe || is_same) {
    file_ = SettlingFile(last_);
  } else {
    file_.takes(last_, Clock::now());
  }
}

// Repeated at each look: a path may lead to another file than before, and a watch dies with its
// file. For the same file the kernel returns the same number.
void ConfigWatch::watch_again() {
  if (!inotify_) return;
  folder_watch_ = ::inotify_add_watch(inotify_.get(), folder_.c_str(), kFolderMask);
  const int before = file_watch_;
  file_watch_ = ::inotify_add_watch(inotify_.get(), path_.c_str(), kFileMask);
  if (before >= 0 && before != file_watch_) ::inotify_rm_watch(inotify_.get(), before);
}

// Whether the path leads through this name in its folder: its own, or the first that it links to,
// such as "..data" of a ConfigMap.
bool ConfigWatch::is_on_the_way(const std::string& name) const {
  if (name == name_) return true;
  std::error_code none;
  const std::filesystem::path target = std::filesystem::read_symlink(path_, none);
  return !none && !target.empty() && target.is_relative() && target.begin()->string() == name;
}

bool ConfigWatch::take_events() {
  alignas(inotify_event) std::array<char, 16384> buffer{};
  bool is_news = false;
  while (inotify_) {
    const ssize_t count = ::read(inotify_.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    is_news = true;
    for (std::size_t at = 0; at < static_cast<std::size_t>(count);) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof(event));
      const std::string name = event.len > 0 ? buffer.data() + at + sizeof(event) : "";
      at += sizeof(event) + event.len;
      take_event(event.wd, event.mask, name);
    }
  }
  return is_news;
}

void ConfigWatch::take_event(int watch, std::uint32_t mask, const std::string& name) {
  // The lost event may have been the end of a write.
  if ((mask & IN_Q_OVERFLOW) != 0) file_.take_event(FileEvent::kClosed);
  const bool is_of_file = watch == file_watch_ || name == name_;
  if (is_of_file && (mask & IN_MODIFY) != 0) file_.take_event(FileEvent::kModified);
  if (is_of_file && (mask & IN_CLOSE_WRITE) != 0) file_.take_event(FileEvent::kClosed);
  const bool is_moved = (mask & IN_MOVED_TO) != 0;
  const bool is_made = (mask & IN_CREATE) != 0;
  if (!(is_moved || is_made) || !is_on_the_way(name)) return;
  if (is_moved || is_link(below(folder_, name))) file_.take_event(FileEvent::kReplaced);
}

// Whether the file is unchanged since the last look, as far as stat shows.
bool ConfigWatch::is_as_before() const {
  struct stat status{};
  FileLook now;
  if (::stat(path_.c_str(), &status) == 0) describe(status, now);
  return now.is_there == last_.is_there && now.identity == last_.identity;
}

FileLook ConfigWatch::look() const {
  FileLook look;
  if (path_.empty()) return look;
  // O_NONBLOCK: a pipe in its place may have no writer.
  const UniqueFd fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) {
    look.problem = errno_error("opening " + path_).message;
    return look;
  }
  struct stat status{};
  if (::fstat(fd.get(), &status) == 0) describe(status, look);
  if (!look.is_regular && !S_ISCHR(status.st_mode)) {
    look.problem = path_ + " is no plain file and cannot be read again";
    return look;
  }
  Result<std::string> content = read_file(path_, kMostDocumentBytes);
  if (content) {
    look.content = *std::move(content);
  } else {
    look.problem = content.error().message;
  }
  return look;
}

std::optional<ConfigReading> ConfigWatch::take(Clock::time_point now) {
  if (path_.empty()) {
    if (!std::exchange(insists_, false)) return std::nullopt;
    return ConfigReading{std::string()};
  }
  const bool is_news = take_events();
  if (!is_news && !insists_ && !file_.next_look() && is_as_before()) return std::nullopt;
  watch_again();
  const FileLook seen = look();
  last_ = seen;
  if (!file_.takes(seen, now)) return std::nullopt;
  insists_ = false;
  if (seen.problem.empty()) return ConfigReading{seen.content, seen.is_regular};
  return ConfigReading{Error{seen.is_there ? ErrorCode::kUnavailable : ErrorCode::kNotFound,
                             "configuration file: " + seen.problem}};
}

}  // namespace tranche::os
