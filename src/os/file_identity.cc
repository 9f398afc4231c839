// SPDX-License-Identifier: Apache-2.0
#include "os/file_identity.h"

#include <sys/stat.h>

namespace tranche::os {

FileIdentity file_identity(const struct stat& status) {
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .size = status.st_size,
          .seconds = status.st_mtim.tv_sec,
          .nanoseconds = status.st_mtim.tv_nsec};
}

std::optional<FileIdentity> file_identity(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return file_identity(status);
}

std::optional<FileIdentity> file_identity(int fd) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return std::nullopt;
  return file_identity(status);
}

bool is_same_file(const std::optional<FileIdentity>& one,
                  const std::optional<FileIdentity>& other) {
  return one && other && one->is_same_file(*other);
}

}  // namespace tranche::os
