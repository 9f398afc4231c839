// SPDX-License-Identifier: Apache-2.0
#include "testbed/node/file_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <system_error>

#include "base/path.h"
#include "os/errno_error.h"
#include "os/files.h"
#include "os/unique_fd.h"

namespace tranche::testbed::sim {
namespace {

namespace fs = std::filesystem;

constexpr const char* kGone = "/tranche-sim/gone";

// Not base's: these need not survive a power cut, and there are hundreds.
Status write_plain(const std::string& path, const PlainFile& file) {
  ::unlink(path.c_str());
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd) return errno_error("creating " + path);
  const ssize_t written = ::write(fd.get(), file.content.data(), file.content.size());
  if (written != static_cast<ssize_t>(file.content.size())) return errno_error("writing " + path);
  if (::fchmod(fd.get(), file.mode) != 0) return errno_error("chmod of " + path);
  return Done{};
}

// The kernel gives no number of an inode in /sys twice, and a file system does. So
// links that are removed there are kept elsewhere.
void remove_link(const std::string& root, const std::string& path) {
  struct stat info{};
  const std::string gone = below(root, kGone);
  const bool is_kept =
      path.starts_with(below(root, "/sys/")) && ::lstat(path.c_str(), &info) == 0 &&
      S_ISLNK(info.st_mode) && make_directories(gone) &&
      ::rename(path.c_str(), below(gone, std::to_string(info.st_ino)).c_str()) == 0;
  if (!is_kept) ::unlink(path.c_str());
}

// Folders that a removed file leaves empty go with it, as those of the kernel
// do, unless they are to stay.
void remove_with_empty_folders(const std::string& root, const std::string& path,
                               const HostFiles& staying) {
  std::error_code ignored;
  if (fs::is_symlink(below(root, path), ignored)) remove_link(root, below(root, path));
  fs::remove_all(below(root, path), ignored);
  for (fs::path folder = fs::path(path).parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    if (staying.contains(folder.string())) return;
    if (!fs::remove(below(root, folder.string()), ignored) || ignored) return;
  }
}

}  // namespace

Status FileWriter::replace(const HostFiles& before, const HostFiles& after) const {
  for (const auto& [path, file] : before) {
    if (!after.contains(path)) remove_with_empty_folders(root_, path, after);
  }
  std::string folder;  // the last that was made: neighbours in the map share one
  for (const auto& [path, file] : after) {
    const auto old = before.find(path);
    if (old != before.end() && old->second == file) continue;
    const std::string target = below(root_, path);
    if (std::string parent = parent_of(target); parent != folder) {
      if (Status made = make_directories(parent); !made) return made;
      folder = std::move(parent);
    }
    if (Status written = write(target, file); !written) return written;
  }
  return Done{};
}

Status FileWriter::write(const std::string& path, const HostFile& file) const {
  if (const auto* plain = std::get_if<PlainFile>(&file)) return write_plain(path, *plain);
  if (const auto* device = std::get_if<CharDevice>(&file)) return write_device(path, *device);
  if (const auto* link = std::get_if<SymLink>(&file)) {
    remove_link(root_, path);
    if (::symlink(link->target.c_str(), path.c_str()) != 0) return errno_error("linking " + path);
    return Done{};
  }
  if (std::holds_alternative<Socket>(file)) {
    ::unlink(path.c_str());
    if (::mknod(path.c_str(), S_IFSOCK | 0666, 0) != 0) return errno_error("creating " + path);
    return Done{};
  }
  if (std::holds_alternative<DriverLibrary>(file)) return copy_library(path);
  return make_directories(path);
}

// A real node where we may make one: it cannot be opened without a driver, but
// it has the numbers that those who look ask for.
Status FileWriter::write_device(const std::string& path, const CharDevice& device) const {
  ::unlink(path.c_str());
  const dev_t number = makedev(device.major, device.minor);
  if (!options_.plain_files && ::mknod(path.c_str(), S_IFCHR | device.mode, number) == 0) {
    ::chmod(path.c_str(), device.mode);  // the umask took some of it
    return Done{};
  }
  return write_plain(path, {.content = "", .mode = device.mode});
}

// A copy of its own for each root: the loader takes two links to one file for
// the same library, and a library finds its world by its own place.
Status FileWriter::copy_library(const std::string& path) const {
  std::string source = options_.library;
#ifdef TRANCHE_SIM_LIBRARY
  if (source.empty()) source = TRANCHE_SIM_LIBRARY;
#endif
  std::error_code error;
  const std::string temporary = path + ".new";
  fs::copy_file(source, temporary, fs::copy_options::overwrite_existing, error);
  if (!error) fs::rename(temporary, path, error);
  if (error) {
    return Error{ErrorCode::kUnavailable,
                 "copying the driver library from '" + source + "': " + error.message()};
  }
  return Done{};
}

Status FileWriter::remember_plain_files(const std::string& mark) const {
  if (options_.plain_files) return write_plain(mark, {.content = ""});
  ::unlink(mark.c_str());
  return Done{};
}

Status FileWriter::append_log(const World& before, const World& after) const {
  const std::string path = below(root_, "/dev/kmsg");
  if (Status made = make_directories(parent_of(path)); !made) return made;
  // A new boot has a new log.
  const bool fresh = before.boot_id != after.boot_id;
  const UniqueFd fd(::open(
      path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (fresh ? O_TRUNC : 0), 0644));
  if (!fd) return errno_error("opening " + path);
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  for (const LogRecord& record : after.kernel_log) {
    if (record.number < before.next_number && !fresh) continue;
    // One write a record, so that a reader never sees half of one.
    const std::string line = "6," + std::to_string(record.number) + "," + std::to_string(micros) +
                             ",-;" + record.text + "\n";
    if (::write(fd.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
      return errno_error("writing " + path);
    }
  }
  return Done{};
}

}  // namespace tranche::testbed::sim
