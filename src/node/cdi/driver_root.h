// SPDX-License-Identifier: Apache-2.0
//
// Looks for files below a root as if it were "/": links in it are followed
// inside it, absolute ones too, and none leads out. A driver root mounted into
// our container is the host's file system or a driver container's, and its
// absolute links mean nothing in ours.
//
// Not thread-safe, and remembers what it listed: make a new one for a new look.
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

  // `path` with all links followed, as seen from the root; empty when there is
  // nothing, or the links go in circles.
  std::optional<std::string> resolve(std::string_view path) const;

  // What `path` is after following links; empty when there is nothing.
  std::optional<struct stat> status(std::string_view path) const;

  // Whether nobody but root, we and `owner` can put something else at `path`, links
  // followed: whoever mounts it looks again. Of the folders on the way, the last may
  // be the owner's.
  bool is_guarded(std::string_view path, uid_t owner) const;

  // Paths in `folder` (one that itself may be a link) whose names match
  // `pattern`, sorted. The last part may be a link or lead nowhere.
  std::vector<std::string> matches(const std::string& folder, std::string_view pattern);

  // Libraries by the pattern of their file names, links followed, each once:
  // from the folders where distributions put drivers, or if none is there from
  // ld.so.cache.
  std::vector<std::string> libraries(std::string_view pattern);

  // Where `path` lies for us.
  std::string here(std::string_view path) const;

 private:
  const std::vector<std::string>& names_in(const std::string& folder);
  struct CachedLibrary {
    std::string name;       // what the loader looks for: "libcuda.so.1"
    std::string real_path;  // links followed
  };
  const std::vector<CachedLibrary>& cached_libraries();

  const std::string root_;
  std::map<std::string, std::vector<std::string>> names_;
  std::optional<std::vector<CachedLibrary>> cached_libraries_;
};

}  // namespace tranche::node
