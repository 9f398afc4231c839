// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes whole files.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tranche::os {

// The file's content, links followed. A file above `limit` bytes is an error, and so are pipes,
// sockets and folders, because reading them could block.
Result<std::string> read_file(const std::string& path, std::size_t limit = 16 << 20);

// The same for a file that an untrusted user may have created: a link or a device is an error,
// too.
Result<std::string> read_plain_file(const std::string& path, std::size_t limit);

// An error unless the open file is a regular file; `path` is for the message.
Status check_plain(int fd, const std::string& path);

// Replaces the file in one step: a reader sees the old content or the new, and after a failure
// (disk full) the old content is still there. The temporary file starts with a dot and has
// another suffix, so that directory readers which filter by suffix ignore it.
Status write_atomically(const std::string& path, std::string_view content, mode_t mode = 0644);

// Names in the directory, sorted, without "." and "..".
Result<std::vector<std::string>> list_directory(const std::string& path);

// The same for plain files alone, also behind links.
Result<std::vector<std::string>> list_plain_files(const std::string& path);

// Creates the directory and its parents; an existing one is fine.
Status make_directories(const std::string& path, mode_t mode = 0755);

// The same for a folder that only we may write to. An existing one must be a folder of ours or
// root's; others lose their write permission.
struct FolderMode {
  mode_t found = 0;
  mode_t now = 0;
};
Result<FolderMode> make_private_directory(const std::string& path);

bool path_exists(const std::string& path);

}  // namespace tranche::os
