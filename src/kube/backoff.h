// SPDX-License-Identifier: Apache-2.0
//
// How long to wait before a failed call is tried again: twice as long each time up to a limit,
// with jitter, so that the agents of a cluster do not come back all at once. The numbers are
// client-go's. Pure: the caller brings time and chance.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

namespace tranche::kube {

class Backoff {
 public:
  using Clock = std::chrono::steady_clock;

  struct Limits {
    std::chrono::milliseconds first{800};
    std::chrono::milliseconds longest{30'000};
    std::chrono::minutes quiet{2};  // without a failure: the next one waits `first` again
  };

  Backoff() = default;
  explicit Backoff(Limits limits) : limits_(limits) {}

  // `chance` is from 0 to 1: the wait is between one and two times the current step. What the
  // server asked for (Retry-After) is the least.
  std::chrono::milliseconds next(Clock::time_point now, double chance,
                                 std::optional<std::chrono::seconds> retry_after = {}) {
    if (!last_ || now - *last_ > limits_.quiet) step_ = limits_.first;
    const auto jittered = std::chrono::duration_cast<std::chrono::milliseconds>(
        step_ * (1.0 + std::clamp(chance, 0.0, 1.0)));
    const auto wait =
        std::max(std::min(jittered, limits_.longest),
                 std::chrono::milliseconds(retry_after.value_or(std::chrono::seconds(0))));
    step_ = std::min(step_ * 2, limits_.longest);
    last_ = now + wait;
    return wait;
  }

 private:
  Limits limits_;
  std::chrono::milliseconds step_{0};
  std::optional<Clock::time_point> last_;  // when the last wait ended
};

}  // namespace tranche::kube
