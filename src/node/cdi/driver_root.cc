// SPDX-License-Identifier: Apache-2.0
#include "node/cdi/driver_root.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <deque>
#include <filesystem>
#include <system_error>

#include "base/path.h"
#include "base/text.h"
#include "formats/ld_cache.h"
#include "os/files.h"

namespace tranche::node {
namespace {

constexpr int kMaxLinks = 40;  // the kernel's own limit

// NVIDIA's toolkit looks in the same folders, in this order.
constexpr std::array kLibraryFolders = {
    "/",
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu/nvidia/current",
    "/usr/lib/aarch64-linux-gnu/nvidia/current",
    "/lib64",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/lib/x86_64-linux-gnu/nvidia/current",
    "/lib/aarch64-linux-gnu/nvidia/current",
};

void push_front(std::deque<std::string>& parts, std::string_view path) {
  const std::vector<std::string> more = split(path, '/');
  parts.insert(parts.begin(), more.begin(), more.end());
}

void add_once(std::vector<std::string>& list, std::string item) {
  if (std::ranges::find(list, item) == list.end()) list.push_back(std::move(item));
}

}  // namespace

DriverRoot::DriverRoot(std::string root) : root_(std::move(root)) {}

std::string DriverRoot::here(std::string_view path) const { return below(root_, path); }

std::optional<std::string> DriverRoot::resolve(std::string_view path) const {
  std::deque<std::string> ahead;
  push_front(ahead, path);
  std::vector<std::string> done;
  int links = 0;
  while (!ahead.empty()) {
    const std::string part = ahead.front();
    ahead.pop_front();
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (!done.empty()) done.pop_back();
      continue;
    }
    done.push_back(part);
    const std::string place = here(join(done, "/"));
    std::error_code error;
    const auto kind = std::filesystem::symlink_status(place, error).type();
    if (error || kind == std::filesystem::file_type::not_found) return std::nullopt;
    if (kind != std::filesystem::file_type::symlink) continue;

    const std::string target = std::filesystem::read_symlink(place, error).string();
    if (error || ++links > kMaxLinks) return std::nullopt;
    done.pop_back();
    if (target.starts_with('/')) done.clear();
    push_front(ahead, target);
  }
  return "/" + join(done, "/");
}

std::optional<struct stat> DriverRoot::status(std::string_view path) const {
  const std::optional<std::string> resolved = resolve(path);
  struct stat info = {};
  if (!resolved || ::lstat(here(*resolved).c_str(), &info) != 0) return std::nullopt;
  return info;
}

bool DriverRoot::is_guarded(std::string_view path, uid_t owner) const {
  const std::optional<std::string> resolved = resolve(path);
  if (!resolved) return false;
  const std::string last = parent_of(*resolved);
  for (std::string folder = last;; folder = parent_of(folder)) {
    struct stat info = {};
    if (::lstat(here(folder).c_str(), &info) != 0) return false;
    const bool is_trusted = info.st_uid == 0 || info.st_uid == ::geteuid();
    if (!is_trusted && (folder != last || info.st_uid != owner)) return false;
    if ((info.st_mode & S_IWOTH) != 0) return false;
    if ((info.st_mode & S_IWGRP) != 0 && info.st_gid != 0) return false;
    if (folder == "/") return true;
  }
}

const std::vector<std::string>& DriverRoot::names_in(const std::string& folder) {
  const auto known = names_.find(folder);
  if (known != names_.end()) return known->second;
  const std::optional<std::string> resolved = resolve(folder);
  Result<std::vector<std::string>> names =
      resolved ? list_directory(here(*resolved)) : std::vector<std::string>{};
  return names_[folder] = names ? *std::move(names) : std::vector<std::string>{};
}

std::vector<std::string> DriverRoot::matches(const std::string& folder, std::string_view pattern) {
  std::vector<std::string> found;
  for (const std::string& name : names_in(folder)) {
    if (glob_match(pattern, name)) found.push_back(below(folder, name));
  }
  return found;
}

const std::vector<DriverRoot::CachedLibrary>& DriverRoot::cached_libraries() {
  if (cached_libraries_) return *cached_libraries_;
  cached_libraries_.emplace();
  const std::optional<std::string> cache = resolve("/etc/ld.so.cache");
  const Result<std::string> bytes = read_file(here(cache.value_or("/etc/ld.so.cache")));
  if (!bytes) return *cached_libraries_;
  for (const std::string& path : ld_cache_libraries(*bytes)) {
    const std::optional<std::string> real = resolve(path);
    if (real) cached_libraries_->push_back({file_name_of(path), *real});
  }
  return *cached_libraries_;
}

std::vector<std::string> DriverRoot::libraries(std::string_view pattern) {
  std::vector<std::string> found;
  for (const char* folder : kLibraryFolders) {
    for (const std::string& path : matches(folder, pattern)) {
      const std::optional<struct stat> info = status(path);
      if (info && S_ISREG(info->st_mode)) add_once(found, resolve(path).value_or(path));
    }
  }
  if (!found.empty()) return found;
  // The cache has the names that the loader looks for; `pattern` may be for the file behind one.
  for (const CachedLibrary& library : cached_libraries()) {
    if (glob_match(pattern, library.name) || glob_match(pattern, file_name_of(library.real_path))) {
      add_once(found, library.real_path);
    }
  }
  return found;
}

}  // namespace tranche::node
