// SPDX-License-Identifier: Apache-2.0
//
// Distinguishes versions of a file without reading it: another file at the same path, or the same
// file written again.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

namespace tranche::os {

struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t size = 0;
  // Of the last write.
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;

  bool is_same_file(const FileIdentity& other) const {
    return device == other.device && inode == other.inode;
  }
  bool operator==(const FileIdentity&) const = default;
};

// The file at `path`, links followed; empty if there is none.
std::optional<FileIdentity> file_identity(const std::string& path);
std::optional<FileIdentity> file_identity(int fd);
FileIdentity file_identity(const struct stat& status);

// Whether both are there, and one file.
bool is_same_file(const std::optional<FileIdentity>& one, const std::optional<FileIdentity>& other);

}  // namespace tranche::os
