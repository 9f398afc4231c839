// SPDX-License-Identifier: Apache-2.0
//
// LiveWorld follows the world's file: every look at it is the file's latest
// content, at the price of one stat() when nothing changed.
//
// Thread-safe.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"
#include "os/file_identity.h"
#include "os/unique_fd.h"
#include "testbed/world/world.h"

namespace tranche::testbed::sim {

using Snapshot = std::shared_ptr<const World>;

class LiveWorld {
 public:
  explicit LiveWorld(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }

  // The world as it is now.
  Result<Snapshot> now();

  // Returns when the world is no longer `seen` or cannot be read, at `until` at
  // the latest.
  using Time = std::chrono::steady_clock::time_point;
  void wait(const Snapshot& seen, Time until);

 private:
  Result<Snapshot> load(std::unique_lock<std::mutex>& lock);

  const std::string path_;
  std::mutex mutex_;
  // Guarded by mutex_.
  // While its descriptor is open, no other file can get its inode number, so equal stamps
  // mean equal content.
  UniqueFd file_;
  std::optional<FileIdentity> stamp_;
  std::optional<Result<Snapshot>> loaded_;
};

}  // namespace tranche::testbed::sim
