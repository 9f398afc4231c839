// SPDX-License-Identifier: Apache-2.0
//
// Tells waiters that something changed; they look for themselves what.
//
// Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace tranche::testbed::standin {

class Pulse {
 public:
  void beat() {
    {
      const std::lock_guard lock(mutex_);
      ++count_;
    }
    changed_.notify_all();
  }

  std::uint64_t count() const {
    const std::lock_guard lock(mutex_);
    return count_;
  }

  // Returns at a beat after `seen`, or at the deadline.
  void wait_past(std::uint64_t seen, std::chrono::steady_clock::time_point deadline) const {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, deadline, [&] { return count_ > seen; });
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::uint64_t count_ = 0;  // guarded by mutex_
};

}  // namespace tranche::testbed::standin
