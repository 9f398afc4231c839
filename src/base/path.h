// SPDX-License-Identifier: Apache-2.0
//
// Paths as text. Pure: none of them is looked at.
#pragma once

#include <string>
#include <string_view>

namespace tranche::base {

// `path` below `root`: below("/host", "/dev/null") is "/host/dev/null".
std::string below(std::string_view root, std::string_view path);

// The folder part: "/a/b.sock" gives "/a", "b.sock" gives ".".
std::string parent_of(const std::string& path);

// Without "." and ".." and with one slash where there are several; links are not looked
// at. "/a/b/../c//" gives "/a/c/".
std::string normal_path(std::string_view path);

// The part after the last slash.
std::string file_name_of(std::string_view path);

}  // namespace tranche::base
