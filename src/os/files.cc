// SPDX-License-Identifier: Apache-2.0
#include "os/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "base/path.h"
#include "os/errno_error.h"
#include "os/unique_fd.h"

namespace tranche::os {
namespace {

Status write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno_error("write");
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return Done{};
}

Status write_and_sync(int fd, std::string_view content, mode_t mode) {
  if (Status written = write_all(fd, content); !written) return written;
  // mkostemp makes it 0600; the umask does not apply to fchmod.
  if (::fchmod(fd, mode) != 0) return errno_error("fchmod");
  if (::fsync(fd) != 0) return errno_error("fsync");
  return Done{};
}

Result<std::string> read_all(int fd, const std::string& path, std::size_t limit) {
  std::string content;
  std::array<char, 65536> buffer{};
  while (true) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno_error("reading " + path);
    if (count == 0) return content;
    content.append(buffer.data(), static_cast<std::size_t>(count));
    if (content.size() > limit) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("reading {}: larger than {} bytes", path, limit)};
    }
  }
}

// O_NONBLOCK: a pipe may have no writer, and a lease may be held.
constexpr int kToRead = O_RDONLY | O_CLOEXEC | O_NONBLOCK;

bool is_character_device(int fd) {
  struct stat status{};
  return ::fstat(fd, &status) == 0 && S_ISCHR(status.st_mode);
}

Status check_owner(const struct stat& status, const std::string& path) {
  if (status.st_uid == 0 || status.st_uid == ::geteuid()) return Done{};
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("{} belongs to user {}", path, status.st_uid)};
}

// Removes the write permission of others from our folder. A sticky folder is shared by design.
Result<FolderMode> keep_others_out(int fd, const struct stat& status, const std::string& path) {
  constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;
  const mode_t found = status.st_mode & 07777U;
  if ((found & kOthersWrite) == 0) return FolderMode{found, found};
  if ((status.st_mode & S_ISVTX) != 0) {
    return Error{ErrorCode::kInvalidArgument, path + " is everybody's; give a folder in it"};
  }
  const mode_t now = found & ~kOthersWrite;
  if (::fchmod(fd, now) == 0) return FolderMode{found, now};
  return errno_error("taking the write permission of others off " + path);
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::size_t limit) {
  const UniqueFd fd(::open(path.c_str(), kToRead));
  if (!fd) return errno_error("opening " + path);
  // /dev/null stands for an empty file.
  if (Status plain = check_plain(fd.get(), path); !plain && !is_character_device(fd.get())) {
    return plain.error();
  }
  return read_all(fd.get(), path, limit);
}

Result<std::string> read_plain_file(const std::string& path, std::size_t limit) {
  const UniqueFd fd(::open(path.c_str(), kToRead | O_NOFOLLOW));
  if (!fd) return errno_error("opening " + path);
  if (Status plain = check_plain(fd.get(), path); !plain) return plain.error();
  return read_all(fd.get(), path, limit);
}

Status check_plain(int fd, const std::string& path) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return errno_error("looking at " + path);
  if (S_ISREG(status.st_mode)) return Done{};
  return Error{ErrorCode::kInvalidArgument, path + " is no plain file"};
}

Status write_atomically(const std::string& path, std::string_view content, mode_t mode) {
  const std::size_t slash = path.find_last_of('/');
  const std::string folder = parent_of(path);
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  std::string temporary = fmt::format("{}/.{}.XXXXXX", folder, name);

  const UniqueFd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd) return errno_error("creating a file in " + folder);
  if (Status written = write_and_sync(fd.get(), content, mode); !written) {
    ::unlink(temporary.c_str());
    return written.error().in("writing " + path);
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    const Error error = errno_error("renaming to " + path);
    ::unlink(temporary.c_str());
    return error;
  }
  // Makes the rename itself survive a power cut. Some file systems refuse to
  // sync a directory; the content is safe either way.
  const UniqueFd directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory) ::fsync(directory.get());
  return Done{};
}

Result<std::vector<std::string>> list_directory(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), ::closedir);
  if (!directory) return errno_error("listing " + path);
  std::vector<std::string> names;
  while (true) {
    errno = 0;
    // readdir is safe as long as no two threads share the DIR, and none do.
    const dirent* entry = ::readdir(directory.get());  // NOLINT(concurrency-mt-unsafe)
    if (entry == nullptr && errno != 0) return errno_error("listing " + path);
    if (entry == nullptr) break;
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

Result<std::vector<std::string>> list_plain_files(const std::string& path) {
  Result<std::vector<std::string>> names = list_directory(path);
  if (!names) return names;
  std::erase_if(*names, [&](const std::string& name) {
    struct stat status = {};
    return ::stat((path + "/" + name).c_str(), &status) != 0 || !S_ISREG(status.st_mode);
  });
  return names;
}

Status make_directories(const std::string& path, mode_t mode) {
  for (std::size_t slash = path.find('/', 1); true; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (::mkdir(part.c_str(), mode) != 0 && errno != EEXIST) return errno_error("creating " + part);
    if (slash == std::string::npos) return Done{};
  }
}

Result<FolderMode> make_private_directory(const std::string& path) {
  if (Status made = make_directories(path, 0700); !made) return made.error();
  // Checks a link itself and its target.
  struct stat link{};
  if (::lstat(path.c_str(), &link) != 0) return errno_error("looking at " + path);
  if (Status ours = check_owner(link, path); !ours) return ours.error();
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd && errno == ENOTDIR) return Error{ErrorCode::kInvalidArgument, path + " is no folder"};
  if (!fd) return errno_error("opening " + path);
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return errno_error("looking at " + path);
  if (Status ours = check_owner(status, path); !ours) return ours.error();
  return keep_others_out(fd.get(), status, path);
}

bool path_exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

}  // namespace tranche::os
