// SPDX-License-Identifier: Apache-2.0
//
// Folders whose place on the node nobody but root, or the user that we run as, can
// give to another. What is mounted into containers, removed, or run from must lie in
// such a place: in /tmp anybody can make a folder, or a link to one, before its owner
// does.
#pragma once

#include <sys/stat.h>

#include <string>

#include "base/result.h"
#include "os/unique_fd.h"

namespace tranche::os {

struct TrustedFolder {
  UniqueFd fd;  // O_PATH: for …at() calls, whatever becomes of the name
  // Others can put files into it, though not another folder in its place.
  bool others_may_write = false;
};

enum class Missing { kIsAnError, kIsMade };

// Opens the folder, one name after the other. Each folder on the way must belong to
// root or to us, and only those two may replace what is in it; a link on the way must
// belong to one of them, and the last name may be none. kNotFound where it is not
// there; with kIsMade, what is missing is made (0755). The path begins at `root`, and so do
// links: with /proc/1/root it is the host's.
Result<TrustedFolder> open_trusted_folder(const std::string& path,
                                          Missing missing = Missing::kIsAnError,
                                          const std::string& root = "/");

// Whether root or we own it.
bool is_owner_trusted(const struct stat& status);
// Whether somebody beside its owner and root's group may write it.
bool may_others_write(const struct stat& status);

}  // namespace tranche::os
