// SPDX-License-Identifier: Apache-2.0
//
// The mark by which we know a folder for one of ours: a small file that is written into
// it when it is made. A folder without it is somebody else's, whatever its name: nothing
// in it is removed, started or ended.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "os/unique_fd.h"

namespace tranche::node {

inline constexpr const char* kMpsMark = ".tranche-mps";

enum class FolderUse { kDaemon, kServerLink };

// What lies in a folder.
struct FolderEntry {
  std::string name;
  mode_t type = 0;          // S_IFDIR and so on
  bool is_trusted = false;  // it belongs to root or to us
  std::string link_target;  // of a link
};

// Whether a folder without a mark is one of ours all the same: an agent before marks
// left exactly this in it, or ours was ended before it could write one. `self` is our
// program's path, to which the server's link leads.
bool is_empty_but_for_us(const std::vector<FolderEntry>& entries);
bool has_layout_of_ours(const std::vector<FolderEntry>& entries, FolderUse use,
                        const std::string& self);

// Makes the folder (0755), where it is not there yet, and marks it. An error where it is
// there and not ours, or lies where others could replace it.
Result<UniqueFd> make_own_folder(const std::string& path, FolderUse use, const std::string& self);

// Opens a folder that an earlier agent may have left; an error unless it is ours. One
// from before marks gets its mark.
Result<UniqueFd> open_own_folder(const std::string& path, FolderUse use, const std::string& self);

// Removes a folder of ours with everything in it. Links are not followed, and what is
// mounted in it is not touched and is an error. kNotFound: it is not there.
Status remove_own_folder(const std::string& path);
// The same for one thing in an open folder, which may be absent.
Status remove_entry(int folder, const std::string& name, const std::string& path);

}  // namespace tranche::node
