// SPDX-License-Identifier: Apache-2.0
//
// A folder of its own for a test, removed with everything in it. Its path is
// short, so that sockets in it keep below the 108 bytes a unix address holds.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace tranche::os {

class TempDir {
 public:
  TempDir() : path_("/tmp/tranche.XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) std::abort();
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }
  std::string path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace tranche::os
