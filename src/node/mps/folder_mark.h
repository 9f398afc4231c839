// SPDX-License-Identifier: Apache-2.0
//
// The mark of our own folders: a small file that is written when the folder is created. A folder
// without it is not ours, whatever its name: nothing in it is removed, started or ended.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "os/unique_fd.h"

namespace tranche::node {

inline constexpr const char* kMpsMark = ".tranche-mps";

enum class FolderUse { kDaemon, kServerLink };

// One entry of a folder.
struct FolderEntry {
  std::string name;
  mode_t type = 0;          // S_IFDIR and so on
  bool is_trusted = false;  // owned by root or by us
  std::string link_target;  // of a link
};

// Whether a folder without a mark is ours all the same: it has exactly the files of an agent before
// marks, or an agent was ended before it wrote the mark. `self` is our program's path, the target
// of the server's link.
bool is_empty_but_for_us(const std::vector<FolderEntry>& entries);
bool has_layout_of_ours(const std::vector<FolderEntry>& entries, FolderUse use,
                        const std::string& self);

// Creates the folder (0755) if it is missing, and marks it. Error: it exists and is not ours, or
// others could replace it.
Result<UniqueFd> make_own_folder(const std::string& path, FolderUse use, const std::string& self);

// Opens an earlier agent's folder; an error unless it is ours. Marks one from before marks.
Result<UniqueFd> open_own_folder(const std::string& path, FolderUse use, const std::string& self);

// Removes our folder with everything in it. Does not follow links; a mount in it is an error and is
// not touched. kNotFound: it does not exist.
Status remove_own_folder(const std::string& path);
// Removes one entry of an open folder; it may be absent.
Status remove_entry(int folder, const std::string& name, const std::string& path);

}  // namespace tranche::node
