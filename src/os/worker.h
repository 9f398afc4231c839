// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace tranche::os {

// Sleeps for `period`, or until `stop` is requested.
inline void sleep_unless_stopped(const std::stop_token& stop, std::chrono::milliseconds period) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  wake.wait_for(lock, stop, period, [] { return false; });
}

}  // namespace tranche::os
