// SPDX-License-Identifier: Apache-2.0
#include "os/put_aside.h"

#include <fmt/core.h>

#include <cstdio>

#include "os/errno_error.h"
#include "os/files.h"

namespace tranche::os {

Result<std::string> put_aside(const std::string& path) {
  constexpr unsigned kMost = 9;
  for (unsigned next = 1; next <= kMost; ++next) {
    std::string aside = path + ".unreadable" + (next > 1 ? fmt::format(".{}", next) : "");
    if (path_exists(aside)) continue;
    if (std::rename(path.c_str(), aside.c_str()) == 0) return aside;
    return errno_error("renaming " + path);
  }
  return Error{ErrorCode::kUnavailable,
               fmt::format("{} such files are there already: {}.unreadable", kMost, path)};
}

}  // namespace tranche::os
