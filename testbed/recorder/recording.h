// SPDX-License-Identifier: Apache-2.0
//
// The transcript's file: one JSON object a line, written when its event is
// finished. An event takes its number when it begins, so a reader that sorts by
// "n" sees a call before those that were made while it was answered.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "os/unique_fd.h"
#include "testbed/recorder/event_json.h"

namespace tranche::testbed::recorder {

class Recording {
 public:
  // The beginning of an event.
  struct Place {
    std::uint64_t number = 0;
    std::chrono::system_clock::time_point began;
  };

  // Starts the file anew: numbers begin with 1.
  static Result<std::unique_ptr<Recording>> open(const std::string& path);
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  ~Recording() = default;

  Place begin();
  // Writes "n", "at" (UTC) and "took_us", then the fields of `event`.
  void finish(const Place& place, const Json& event);
  void add(const Json& event) { finish(begin(), event); }

  // The first line that could not be written, and why.
  Status written() const;

 private:
  Recording(std::string path, UniqueFd file) : path_(std::move(path)), file_(std::move(file)) {}

  const std::string path_;
  const UniqueFd file_;
  std::atomic<std::uint64_t> last_number_ = 0;
  mutable std::mutex mutex_;  // held around a write
  Status written_ = Done{};   // guarded by mutex_
};

}  // namespace tranche::testbed::recorder
