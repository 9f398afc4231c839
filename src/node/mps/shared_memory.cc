// SPDX-License-Identifier: Apache-2.0
#include "node/mps/shared_memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>

#include "base/text.h"
#include "os/errno_error.h"
#include "os/file_identity.h"
#include "os/files.h"
#include "os/unique_fd.h"

namespace tranche::node {
namespace {

constexpr const char* kOwnMounts = "/proc/thread-self/mountinfo";
constexpr const char* kSource = "tranche-mps";
constexpr std::uint64_t kBytesOfAnInode = 4096;
constexpr std::uint64_t kFewestInodes = 1024;
// More than any usual stack of mounts.
constexpr int kMostMounts = 16;

std::uint64_t inodes_for(std::uint64_t bytes) {
  return std::max(bytes / kBytesOfAnInode, kFewestInodes);
}

// "\040" is a space, because spaces separate the fields.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 3 >= text.size()) {
      plain += text[i];
      continue;
    }
    unsigned code = 0;
    for (std::size_t digit = 1; digit <= 3; ++digit) {
      code = code * 8 + static_cast<unsigned>(text[i + digit] - '0');
    }
    plain += static_cast<char>(code);
    i += 3;
  }
  return plain;
}

std::optional<MountLine> uppermost(const std::vector<MountLine>& table, const std::string& point) {
  const auto last = std::find_if(table.rbegin(), table.rend(),
                                 [&](const MountLine& line) { return line.point == point; });
  return last == table.rend() ? std::nullopt : std::optional(*last);
}

Result<std::vector<MountLine>> read_mounts(const std::string& path) {
  const Result<std::string> text = read_file(path);
  if (!text) return text.error();
  return parse_mountinfo(*text);
}

UniqueFd open_folder(const std::string& folder) {
  return UniqueFd(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// The path as in mount tables: links resolved, single slashes.
std::string point_of(const UniqueFd& folder) {
  std::array<char, 4096> text{};
  const std::string link = fmt::format("/proc/self/fd/{}", folder.get());
  const ssize_t length = ::readlink(link.c_str(), text.data(), text.size());
  return length <= 0 ? "" : std::string(text.data(), static_cast<std::size_t>(length));
}

// The host's table is that of process 1, unless we are process 1.
std::optional<bool> is_on_host(const MountLine& here, const std::string& host_mounts) {
  if (::getpid() == 1) return std::nullopt;
  const Result<std::vector<MountLine>> table = read_mounts(host_mounts);
  if (!table) return std::nullopt;
  // By the device number, because the host may have another path.
  return std::ranges::any_of(*table, [&](const MountLine& line) {
    return line.device == here.device && line.root == here.root &&
           uppermost(*table, line.point) == line;
  });
}

Result<SharedMemoryFound> look_at(const std::string& folder, const std::string& host_mounts) {
  const UniqueFd fd = open_folder(folder);
  struct stat status = {};
  struct statvfs size = {};
  if (!fd || ::fstat(fd.get(), &status) != 0 || ::fstatvfs(fd.get(), &size) != 0) {
    return errno_error("looking at " + folder);
  }
  const Result<std::vector<MountLine>> table = read_mounts(kOwnMounts);
  if (!table) return table.error();
  SharedMemoryFound found{.here = uppermost(*table, point_of(fd))};
  if (!found.here) return found;
  const std::string device = fmt::format("{}:{}", major(status.st_dev), minor(status.st_dev));
  // The path decides, not the line in the table.
  if (device != found.here->device) {
    found.here.reset();
    return found;
  }
  const unsigned long bound = ST_NOSUID | ST_NODEV | ST_NOEXEC;
  found.is_bound = (size.f_flag & bound) == bound;
  found.bytes = std::uint64_t{size.f_blocks} * size.f_frsize;
  found.inodes = size.f_files;
  found.on_host = is_on_host(*found.here, host_mounts);
  return found;
}

std::string size_text(std::uint64_t bytes) { return fmt::format("{} KiB", bytes >> 10U); }

using FileIds = std::set<std::pair<dev_t, ino_t>>;

void add_open_files(pid_t process, FileIds& used) {
  const std::string folder = fmt::format("/proc/{}/", process);
  for (const char* kind : {"fd/", "map_files/"}) {
    const Result<std::vector<std::string>> names = list_directory(folder + kind);
    if (!names) continue;
    for (const std::string& name : *names) {
      struct stat status = {};
      if (::stat((folder + kind + name).c_str(), &status) == 0) {
        used.insert({status.st_dev, status.st_ino});
      }
    }
  }
}

// Removes by descriptors: a pod can nest folders deeper than the longest path, and create links.
// Folders below kDeepest are moved up first, to limit the open descriptors.
class Emptying {
 public:
  Emptying(int top, dev_t device, const FileIds& used, timespec until)
      : top_(top), device_(device), used_(used), until_(until) {}

  Result<bool> run() {
    empty(UniqueFd(::openat(top_, ".", kFolder)), 0);
    while (!moved_.empty()) {
      const std::string name = std::move(moved_.back());
      moved_.pop_back();
      remove_folder(top_, name, 0);
    }
    if (left_ == 0) return !has_younger_;
    return Error{ErrorCode::kUnavailable,
                 fmt::format("cannot remove {} files or folders: {}", left_, problem_)};
  }

 private:
  static constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  static constexpr int kDeepest = 32;
  static constexpr int kMostNames = 16;

  void fail(const char* doing) {
    if (left_++ == 0) problem_ = errno_error(doing).message;
  }

  bool is_left_over(const struct stat& status) {
    if (status.st_dev != device_ || used_.contains({status.st_dev, status.st_ino})) return false;
    const bool is_older = std::pair(status.st_ctim.tv_sec, status.st_ctim.tv_nsec) <
                          std::pair(until_.tv_sec, until_.tv_nsec);
    has_younger_ = has_younger_ || !is_older;
    return is_older;
  }

  void empty(const UniqueFd& folder, int depth) {
    struct stat status = {};
    if (!folder || ::fstat(folder.get(), &status) != 0) return fail("opening a folder");
    if (status.st_dev != device_) return;
    for (const std::string& name : names_in(folder)) {
      if (::fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno != ENOENT) fail("looking at a file");
      } else if (!is_left_over(status)) {
        continue;
      } else if (!S_ISDIR(status.st_mode)) {
        if (::unlinkat(folder.get(), name.c_str(), 0) != 0) fail("removing a file");
      } else if (depth < kDeepest) {
        remove_folder(folder.get(), name, depth + 1);
      } else {
        move_up(folder.get(), name);
      }
    }
  }

  std::vector<std::string> names_in(const UniqueFd& folder) {
    std::vector<std::string> names;
    DIR* const entries = ::fdopendir(::openat(folder.get(), ".", kFolder));
    if (entries == nullptr) {
      fail("listing a folder");
      return names;
    }
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody else reads this one
    while (const dirent* entry = ::readdir(entries)) {
      const std::string_view name = static_cast<const char*>(entry->d_name);
      if (name != "." && name != "..") names.emplace_back(name);
    }
    ::closedir(entries);
    return names;
  }

  void remove_folder(int parent, const std::string& name, int depth) {
    empty(UniqueFd(::openat(parent, name.c_str(), kFolder)), depth);
    // Not empty: something in it may be in use.
    if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOTEMPTY) {
      fail("removing a folder");
    }
  }

  void move_up(int parent, const std::string& name) {
    for (int tries = 0; tries < kMostNames; ++tries) {
      // A pod cannot predict the name.
      const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
      std::string above = fmt::format(".left-{}-{}", now, ++moves_);
      const char* const to = above.c_str();
      if (::renameat2(parent, name.c_str(), top_, to, RENAME_NOREPLACE) == 0) {
        moved_.push_back(std::move(above));
        return;
      }
      if (errno != EEXIST) break;
    }
    fail("moving a folder up");
  }

  int top_;
  dev_t device_;
  const FileIds& used_;
  timespec until_;
  std::vector<std::string> moved_;  // in the uppermost folder
  unsigned moves_ = 0;
  bool has_younger_ = false;
  unsigned left_ = 0;
  std::string problem_;  // of the first
};

}  // namespace

std::vector<MountLine> parse_mountinfo(std::string_view text) {
  std::vector<MountLine> lines;
  for (const std::string& line : split(text, '\n')) {
    // 36 35 98:0 /mnt1 /mnt2 rw,noatime shared:1 - ext3 /dev/root rw,errors=continue
    const std::vector<std::string> fields = split(line, ' ');
    const auto dash = std::ranges::find(fields, "-");
    if (dash - fields.begin() < 6 || fields.end() - dash < 2) continue;
    lines.push_back({.device = fields[2],
                     .root = unescaped(fields[3]),
                     .point = unescaped(fields[4]),
                     .is_shared = std::any_of(
                         fields.begin() + 6, dash,
                         [](const std::string& field) { return field.starts_with("shared:"); }),
                     .type = *(dash + 1)});
  }
  return lines;
}

bool is_as_mounted(const SharedMemoryFound& found, std::uint64_t bytes) {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return found.here && found.here->type == "tmpfs" && found.here->root == "/" && found.is_bound &&
         found.bytes == (bytes + page - 1) / page * page && found.inodes == inodes_for(bytes);
}

std::string shared_memory_problem(const SharedMemoryFound& found, std::uint64_t bytes) {
  if (!found.here) return "no tmpfs is mounted there";
  if (!is_as_mounted(found, bytes)) {
    return fmt::format("the mount there is no tmpfs of {} with nosuid, nodev and noexec",
                       size_text(bytes));
  }
  if (found.on_host.value_or(found.here->is_shared)) return "";
  return "the host does not see the tmpfs that is mounted there, and containers would get the "
         "folder beneath it; the agent's volume needs mountPropagation Bidirectional "
         "(mps.sharedMemory of the chart)";
}

std::string shared_memory_options(std::uint64_t bytes) {
  return fmt::format("size={}k,nr_inodes={},mode=1777", (bytes + 1023) >> 10U, inodes_for(bytes));
}

Status mount_shared_memory(const std::string& folder, std::uint64_t bytes,
                           const std::string& host_mounts) {
  Result<SharedMemoryFound> found = look_at(folder, host_mounts);
  if (found && found->here && !is_as_mounted(*found, bytes)) {
    if (Status gone = unmount_shared_memory(folder); !gone) return gone;
    found = look_at(folder, host_mounts);
  }
  if (!found) return found.error();
  if (!found->here) {
    const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RELATIME;
    const std::string options = shared_memory_options(bytes);
    if (::mount(kSource, folder.c_str(), "tmpfs", flags, options.c_str()) != 0) {
      const Error error = errno_error("mounting a tmpfs at " + folder);
      return Error{error.code, error.message +
                                   "; mps-shared-memory needs CAP_SYS_ADMIN, and in a pod "
                                   "mountPropagation Bidirectional"};
    }
  }
  return check_shared_memory(folder, bytes, host_mounts);
}

Status check_shared_memory(const std::string& folder, std::uint64_t bytes,
                           const std::string& host_mounts) {
  const Result<SharedMemoryFound> found = look_at(folder, host_mounts);
  if (!found) return found.error();
  const std::string problem = shared_memory_problem(*found, bytes);
  if (problem.empty()) return Done{};
  return Error{ErrorCode::kUnavailable, fmt::format("the shared memory {}: {}", folder, problem)};
}

Status unmount_shared_memory(const std::string& folder) {
  for (int mounts = 0; mounts < kMostMounts; ++mounts) {
    const UniqueFd fd = open_folder(folder);
    // Missing or not a folder: we have mounted nothing there.
    if (!fd) return Done{};
    const Result<std::vector<MountLine>> table = read_mounts(kOwnMounts);
    if (!table) return table.error();
    if (!uppermost(*table, point_of(fd))) return Done{};
    if (::umount2(folder.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) != 0) {
      return errno_error("unmounting " + folder);
    }
  }
  return Error{ErrorCode::kUnavailable, fmt::format("unmounting {}: too many mounts", folder)};
}

bool has_shared_memory(pid_t process, const std::string& folder) {
  const std::string place = fmt::format("/proc/{}/root/dev/shm", process);
  return is_same_file(file_identity(place), file_identity(folder));
}

Result<bool> empty_shared_memory(const std::string& folder, const std::vector<pid_t>& processes,
                                 std::chrono::system_clock::time_point until) {
  const UniqueFd fd = open_folder(folder);
  const Result<std::vector<MountLine>> table = read_mounts(kOwnMounts);
  struct stat status = {};
  // Missing or not a folder: nothing to remove.
  if (!fd) return true;
  if (::fstat(fd.get(), &status) != 0) return errno_error("looking at " + folder);
  if (!table) return table.error();
  if (!uppermost(*table, point_of(fd))) return true;
  FileIds used;
  for (const pid_t process : processes) add_open_files(process, used);
  const auto since_epoch = until.time_since_epoch();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since_epoch);
  const timespec before{.tv_sec = seconds.count(),
                        .tv_nsec = std::chrono::nanoseconds(since_epoch - seconds).count()};
  return Emptying(fd.get(), status.st_dev, used, before).run();
}

}  // namespace tranche::node
