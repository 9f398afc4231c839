// SPDX-License-Identifier: Apache-2.0
//
// Whole files in, whole files out.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tranche::os {

// The file's content, links followed. A file above `limit` bytes is an error, not
// a part of it, and so are pipes, sockets and folders: nobody can make us wait.
Result<std::string> read_file(const std::string& path, std::size_t limit = 16 << 20);

// The same of a file that somebody else may have put there: a link or a device in
// its place is an error, too.
Result<std::string> read_plain_file(const std::string& path, std::size_t limit);

// An error unless the open file is a plain one; `path` is for its message.
Status check_plain(int fd, const std::string& path);

// Replaces the file in one step: a reader sees the old content or the new, and
// after a failure (disk full, say) the old one is still there. The temporary
// file starts with a dot and has another suffix, so that directory readers
// which go by the suffix do not take it up.
Status write_atomically(const std::string& path, std::string_view content, mode_t mode = 0644);

// Names in the directory, sorted, without "." and "..".
Result<std::vector<std::string>> list_directory(const std::string& path);

// Makes the directory and those above it; one that is there already is fine.
Status make_directories(const std::string& path, mode_t mode = 0755);

// The same for a folder that nobody else is to put anything into. One that is there
// must be a folder, ours or root's; the write permission of others is taken off it.
struct FolderMode {
  mode_t found = 0;
  mode_t now = 0;
};
Result<FolderMode> make_private_directory(const std::string& path);

bool path_exists(const std::string& path);

}  // namespace tranche::os
