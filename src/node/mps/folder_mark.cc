// SPDX-License-Identifier: Apache-2.0
#include "node/mps/folder_mark.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "base/path.h"
#include "node/mps/driver_programs.h"
#include "os/errno_error.h"
#include "os/trusted_folder.h"

namespace tranche::node {
namespace {

constexpr std::string_view kContent = "made by tranche-device-plugin, which removes it\n";
constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

std::string name_of(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

std::string unfinished_mark() { return std::string(kMpsMark) + ".new"; }

Error not_ours(const std::string& path, const std::string& such_as) {
  return {ErrorCode::kInvalidArgument,
          fmt::format("{} has data in it that is not ours{}; move it away, or give another "
                      "directory for MPS daemons",
                      path, such_as.empty() ? "" : ", such as " + such_as)};
}

Result<std::vector<std::string>> names_in(int folder, const std::string& path) {
  // A separate descriptor: closedir closes it, and reading moves it.
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(
      ::fdopendir(::openat(folder, ".", kFolderFlags)), ::closedir);
  if (!directory) return errno_error("listing " + path);
  std::vector<std::string> names;
  // readdir is safe as long as no two threads share the DIR.
  while (const dirent* entry = ::readdir(directory.get())) {  // NOLINT(concurrency-mt-unsafe)
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

std::vector<FolderEntry> entries_of(int folder, const std::vector<std::string>& names) {
  std::vector<FolderEntry> entries;
  for (const std::string& name : names) {
    FolderEntry entry{.name = name};
    struct stat status = {};
    if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
      entry.type = status.st_mode & S_IFMT;
      entry.is_trusted = is_owner_trusted(status);
    }
    std::array<char, 4096> text{};
    const ssize_t length = ::readlinkat(folder, name.c_str(), text.data(), text.size());
    if (length > 0) entry.link_target.assign(text.data(), static_cast<std::size_t>(length));
    entries.push_back(std::move(entry));
  }
  return entries;
}

bool is_marked(int folder) {
  const UniqueFd fd(::openat(folder, kMpsMark, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status = {};
  if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      !is_owner_trusted(status) || may_others_write(status)) {
    return false;
  }
  std::array<char, 128> text{};
  const ssize_t length = ::read(fd.get(), text.data(), text.size());
  return length > 0 && std::string_view(text.data(), static_cast<std::size_t>(length)) == kContent;
}

Status mark(int folder, const std::string& path) {
  const std::string unfinished = unfinished_mark();
  ::unlinkat(folder, unfinished.c_str(), 0);
  const UniqueFd fd(::openat(folder, unfinished.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!fd || ::fchmod(fd.get(), 0644) != 0 ||
      ::write(fd.get(), kContent.data(), kContent.size()) !=
          static_cast<ssize_t>(kContent.size()) ||
      ::renameat(folder, unfinished.c_str(), folder, kMpsMark) != 0) {
    return errno_error("marking " + path);
  }
  return Done{};
}

Result<UniqueFd> open_folder(const std::string& path, Missing missing) {
  const Result<TrustedFolder> above = open_trusted_folder(parent_of(path), missing);
  if (!above) return above.error();
  if (above->others_may_write) {
    return Error{
        ErrorCode::kInvalidArgument,
        parent_of(path) +
            " is writable for others than root; MPS daemons need a directory of their own"};
  }
  const std::string name = name_of(path);
  const bool is_new =
      missing == Missing::kIsMade && ::mkdirat(above->fd.get(), name.c_str(), 0755) == 0;
  if (!is_new && missing == Missing::kIsMade && errno != EEXIST) {
    return errno_error("creating " + path);
  }
  UniqueFd fd(::openat(above->fd.get(), name.c_str(), kFolderFlags));
  if (!fd && (errno == ELOOP || errno == ENOTDIR)) {
    return Error{ErrorCode::kInvalidArgument, path + " is not a folder of ours"};
  }
  struct stat status = {};
  if (!fd || ::fstat(fd.get(), &status) != 0) return errno_error("opening " + path);
  if (!is_owner_trusted(status)) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} belongs to user {}, not to root", path, status.st_uid)};
  }
  if (!is_new && may_others_write(status)) {
    return Error{ErrorCode::kInvalidArgument, path + " is writable for others than root"};
  }
  return fd;
}

// Files of an interrupted marking may be in a folder that becomes ours.
bool is_of_marking(const FolderEntry& entry) {
  return entry.is_trusted && entry.type == S_IFREG &&
         (entry.name == unfinished_mark() || entry.name == kMpsMark);
}

bool is_of_server_link(const FolderEntry& entry, const std::string& self) {
  return entry.is_trusted && entry.type == S_IFLNK &&
         (entry.name == kServerProgram || entry.name == std::string(kServerProgram) + ".new") &&
         name_of(entry.link_target) == name_of(self);
}

bool is_of_daemon(const FolderEntry& entry) {
  if (!entry.is_trusted) return false;
  for (const char* folder : {"pipe", "log", "client", "shm"}) {
    if (entry.name == folder) return entry.type == S_IFDIR;
  }
  if (entry.name == "output" || entry.name == "canary") return entry.type == S_IFIFO;
  if (entry.name == "control.new") return entry.type == S_IFSOCK;
  return entry.type == S_IFREG &&
         (entry.name == "exclusive" || entry.name.starts_with(".exclusive."));
}

Status remove_content(int folder, const std::string& path, dev_t device);

Status remove_one(int folder, const std::string& name, const std::string& path, dev_t device) {
  struct stat status = {};
  if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT ? Status(Done{}) : Status(errno_error("looking at " + path));
  }
  if (status.st_dev != device) {
    return Error{ErrorCode::kUnavailable,
                 fmt::format("removing {}: something is mounted there", path)};
  }
  if (S_ISDIR(status.st_mode)) {
    const UniqueFd fd(::openat(folder, name.c_str(), kFolderFlags));
    if (!fd) return errno_error("removing " + path);
    if (Status emptied = remove_content(fd.get(), path, device); !emptied) return emptied;
  }
  const int flags = S_ISDIR(status.st_mode) ? AT_REMOVEDIR : 0;
  if (::unlinkat(folder, name.c_str(), flags) != 0 && errno != ENOENT) {
    return errno_error("removing " + path);
  }
  return Done{};
}

Status remove_content(int folder, const std::string& path, dev_t device) {
  const Result<std::vector<std::string>> names = names_in(folder, path);
  if (!names) return names.error();
  for (const std::string& name : *names) {
    // The mark goes last, so that a later agent recognizes what is left.
    if (name == kMpsMark) continue;
    if (Status gone = remove_one(folder, name, fmt::format("{}/{}", path, name), device); !gone) {
      return gone;
    }
  }
  return remove_one(folder, kMpsMark, fmt::format("{}/{}", path, kMpsMark), device);
}

}  // namespace

bool is_empty_but_for_us(const std::vector<FolderEntry>& entries) {
  return std::ranges::all_of(entries, is_of_marking);
}

bool has_layout_of_ours(const std::vector<FolderEntry>& entries, FolderUse use,
                        const std::string& self) {
  const auto fits = [&](const FolderEntry& entry) {
    if (is_of_marking(entry)) return true;
    return use == FolderUse::kDaemon ? is_of_daemon(entry) : is_of_server_link(entry, self);
  };
  if (!std::ranges::all_of(entries, fits)) return false;
  const auto has = [&](const char* name) {
    return std::ranges::find(entries, name, &FolderEntry::name) != entries.end();
  };
  return use == FolderUse::kDaemon ? has("pipe") && has("log") && has("client")
                                   : has(kServerProgram);
}

Result<UniqueFd> make_own_folder(const std::string& path, FolderUse use, const std::string& self) {
  Result<UniqueFd> folder = open_folder(path, Missing::kIsMade);
  if (!folder) return folder.error();
  if (is_marked(folder->get())) return folder;
  const Result<std::vector<std::string>> names = names_in(folder->get(), path);
  if (!names) return names.error();
  const std::vector<FolderEntry> entries = entries_of(folder->get(), *names);
  if (!is_empty_but_for_us(entries) && !has_layout_of_ours(entries, use, self)) {
    return not_ours(path, names->front());
  }
  // A server runs as its clients' user: the umask must not keep it out.
  if (::fchmod(folder->get(), 0755) != 0) return errno_error("opening up " + path);
  if (Status marked = mark(folder->get(), path); !marked) return marked.error();
  return folder;
}

Result<UniqueFd> open_own_folder(const std::string& path, FolderUse use, const std::string& self) {
  Result<UniqueFd> folder = open_folder(path, Missing::kIsAnError);
  if (!folder || is_marked(folder->get())) return folder;
  const Result<std::vector<std::string>> names = names_in(folder->get(), path);
  if (!names) return names.error();
  if (!has_layout_of_ours(entries_of(folder->get(), *names), use, self)) {
    return not_ours(path, names->empty() ? "" : names->front());
  }
  if (Status marked = mark(folder->get(), path); !marked) return marked.error();
  return folder;
}

Status remove_own_folder(const std::string& path) {
  const Result<UniqueFd> folder = open_folder(path, Missing::kIsAnError);
  if (!folder) return folder.error();
  if (!is_marked(folder->get())) return not_ours(path, "");
  struct stat status = {};
  if (::fstat(folder->get(), &status) != 0) return errno_error("looking at " + path);
  if (Status emptied = remove_content(folder->get(), path, status.st_dev); !emptied) return emptied;
  if (::rmdir(path.c_str()) != 0) return errno_error("removing " + path);
  return Done{};
}

Status remove_entry(int folder, const std::string& name, const std::string& path) {
  struct stat status = {};
  if (::fstat(folder, &status) != 0) return errno_error("looking at " + path);
  return remove_one(folder, name, path, status.st_dev);
}

}  // namespace tranche::node
