// SPDX-License-Identifier: Apache-2.0
//
// The dynamic loader's list of libraries, /etc/ld.so.cache. It leads to a driver in a folder of
// its own (/opt/…, NixOS, old Ubuntu's /usr/lib/nvidia-NNN). Pure, and trusts nothing in the
// bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tranche::formats {

// Paths of the 64-bit libraries, in the cache's order, each once. Empty for
// anything that is not such a cache.
std::vector<std::string> ld_cache_libraries(std::string_view cache);

}  // namespace tranche::formats
