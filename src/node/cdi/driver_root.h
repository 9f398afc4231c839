// SPDX-License-Identifier: Apache-2.0
//
// Finds files below a root as if it were "/": follows links inside it, absolute ones too, and never
// leaves it. A driver root in our container is the file system of the host or of a driver
// container, and its absolute links mean nothing in ours.
//
// Not thread-safe. Caches listings: make a new one to see changes.
#pragma once

#include <sys/stat.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tranche::node {

class DriverRoot {
 public:
  explicit DriverRoot(std::string root);

  // `path` with all links followed, as seen from the root; empty: missing, or a link loop.
  std::optional<std::string> resolve(std::string_view path) const;

  // Status of `path` after following links; empty: missing.
  std::optional<struct stat> status(std::string_view path) const;

  // Whether only root, we and `owner` can replace `path`, links followed: the runtime looks it up
  // again. Of the folders on the way, only the last may belong to `owner`.
  bool is_guarded(std::string_view path, uid_t owner) const;

  // Paths in `folder` (which may be a link) whose names match `pattern`, sorted. The last part may
  // be a link, even a dangling one.
  std::vector<std::string> matches(const std::string& folder, std::string_view pattern);

  // Libraries whose file names match, links followed, each once: from the folders where
  // distributions install drivers, else from ld.so.cache.
  std::vector<std::string> libraries(std::string_view pattern);

  // `path` as this process sees it.
  std::string here(std::string_view path) const;

 private:
  const std::vector<std::string>& names_in(const std::string& folder);
  struct CachedLibrary {
    std::string name;       // for the loader: "libcuda.so.1"
    std::string real_path;  // links followed
  };
  const std::vector<CachedLibrary>& cached_libraries();

  const std::string root_;
  std::map<std::string, std::vector<std::string>> names_;
  std::optional<std::vector<CachedLibrary>> cached_libraries_;
};

}  // namespace tranche::node
