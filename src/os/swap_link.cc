// SPDX-License-Identifier: Apache-2.0
#include "os/swap_link.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "os/errno_error.h"

namespace tranche::os {

Result<bool> swap_link(const std::string& target, const std::string& path) {
  std::error_code none;
  if (const auto now = std::filesystem::read_symlink(path, none); !none && now == target) {
    return false;
  }
  const std::string temporary = path + ".next";
  // Of a run that was killed in between.
  if (::unlink(temporary.c_str()) != 0 && errno != ENOENT) {
    return errno_error("removing " + temporary);
  }
  if (::symlink(target.c_str(), temporary.c_str()) != 0) {
    return errno_error("linking " + temporary);
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    const Error error = errno_error("renaming to " + path);
    ::unlink(temporary.c_str());
    return error;
  }
  return true;
}

}  // namespace tranche::os
