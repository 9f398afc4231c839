// SPDX-License-Identifier: Apache-2.0
#include "os/file_identity.h"

#include <sys/stat.h>

namespace tranche::os {
namespace {

FileIdentity identity_of(const struct stat& status) {
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .size = status.st_size,
          .seconds = status.st_mtim.tv_sec,
          .nanoseconds = status.st_mtim.tv_nsec};
}

}  // namespace

std::optional<FileIdentity> file_identity(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return identity_of(status);
}

std::optional<FileIdentity> file_identity(int fd) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return std::nullopt;
  return identity_of(status);
}

}  // namespace tranche::os
