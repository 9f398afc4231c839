// SPDX-License-Identifier: Apache-2.0
#include "base/path.h"

#include <fmt/core.h>

#include <filesystem>  // lexical functions only

namespace tranche::base {

std::string below(std::string_view root, std::string_view path) {
  while (!root.empty() && root.back() == '/') root.remove_suffix(1);
  while (!path.empty() && path.front() == '/') path.remove_prefix(1);
  return fmt::format("{}/{}", root, path);
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string normal_path(std::string_view path) {
  return std::filesystem::path(path).lexically_normal().string();
}

std::string file_name_of(std::string_view path) {
  return std::string(path.substr(path.find_last_of('/') + 1));
}

}  // namespace tranche::base
