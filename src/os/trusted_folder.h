// SPDX-License-Identifier: Apache-2.0
//
// Folders that only root, or the user we run as, can replace. Everything that is mounted into
// containers, removed or executed must be in such a folder: in /tmp anybody can create a folder,
// or a link to one, first.
#pragma once

#include <sys/stat.h>

#include <string>

#include "base/result.h"
#include "os/unique_fd.h"

namespace tranche::os {

struct TrustedFolder {
  UniqueFd fd;  // O_PATH: for …at() calls, even if the path is replaced
  // Others can add files to it, but cannot replace it.
  bool others_may_write = false;
};

enum class Missing { kIsAnError, kIsMade };

// Opens the folder component by component. Each folder on the way must belong to root or to us,
// and only those two may replace its entries. A link on the way must belong to one of them; the
// last component may not be a link. Returns kNotFound if it is missing; with kIsMade, creates
// what is missing (0755). The path begins at `root`, and so do links: with /proc/1/root it is the
// host's.
Result<TrustedFolder> open_trusted_folder(const std::string& path,
                                          Missing missing = Missing::kIsAnError,
                                          const std::string& root = "/");

bool is_owner_trusted(const struct stat& status);
// Whether anyone besides its owner and root's group may write it.
bool may_others_write(const struct stat& status);

}  // namespace tranche::os
