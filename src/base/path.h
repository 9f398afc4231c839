// SPDX-License-Identifier: Apache-2.0
//
// Functions on paths as text. Pure: they do not touch the file system.
#pragma once

#include <string>
#include <string_view>

namespace tranche::base {

// `path` below `root`: below("/host", "/dev/null") is "/host/dev/null".
std::string below(std::string_view root, std::string_view path);

// The folder part: "/a/b.sock" gives "/a", "b.sock" gives ".".
std::string parent_of(const std::string& path);

// Removes "." and ".." and repeated slashes, and does not follow links. "/a/b/../c//" gives
// "/a/c/".
std::string normal_path(std::string_view path);

// The part after the last slash.
std::string file_name_of(std::string_view path);

}  // namespace tranche::base
