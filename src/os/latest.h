// SPDX-License-Identifier: Apache-2.0
//
// Latest<T>: the newest immutable value, and a way to wait for a newer one. It is the channel
// between our threads: a writer publishes whole values, any number of readers take them. Slow
// readers skip to the newest value.
//
// Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

namespace tranche::os {

template <typename T>
class Latest {
 public:
  struct Versioned {
    std::uint64_t version;  // 0 until the first publish()
    std::shared_ptr<const T> value;
  };

  // Publishes `value` unless it equals the current one; returns whether it did.
  bool publish(T value) {
    {
      const std::lock_guard lock(mutex_);
      if (current_.version > 0 && *current_.value == value) return false;
      current_ = {current_.version + 1, std::make_shared<const T>(std::move(value))};
    }
    changed_.notify_all();
    return true;
  }

  Versioned get() const {
    const std::lock_guard lock(mutex_);
    return current_;
  }

  // Waits for a version above `seen`, at most `patience`. Returns the current value either way:
  // the caller compares versions.
  Versioned wait_newer(std::uint64_t seen, std::chrono::milliseconds patience) const {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience, [&] { return current_.version > seen; });
    return current_;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  Versioned current_{0, std::make_shared<const T>()};
};

}  // namespace tranche::os
