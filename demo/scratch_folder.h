// SPDX-License-Identifier: Apache-2.0
//
// A temporary folder for everything the demo makes, removed with this object.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace tranche::demo {

class ScratchFolder {
 public:
  // In the first of these folders that will do: we may write there, the driver
  // library can be loaded from there (some machines mount /tmp noexec), and its
  // path is short enough for sockets.
  static Result<ScratchFolder> make(const std::vector<std::string>& parents);

  ScratchFolder(ScratchFolder&& other) noexcept;
  ScratchFolder& operator=(ScratchFolder&&) = delete;
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();

  const std::string& path() const { return path_; }
  std::string path(const std::string& name) const { return path_ + "/" + name; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;  // empty: moved from
};

// $TMPDIR, then where temporary files usually are.
std::vector<std::string> temporary_folders();

}  // namespace tranche::demo
