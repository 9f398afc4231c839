// SPDX-License-Identifier: Apache-2.0
//
// A limit on calls a second, so that no bug of ours loads the API server: a token bucket. Pure.
#pragma once

#include <algorithm>
#include <chrono>

namespace tranche::kube {

class CallBudget {
 public:
  using Clock = std::chrono::steady_clock;

  CallBudget(double calls_a_second, double burst)
      : rate_(calls_a_second), burst_(burst), tokens_(burst) {}

  // Takes one call and says how long to wait before it is made.
  std::chrono::milliseconds take(Clock::time_point now) {
    if (last_ != Clock::time_point{}) {
      const double passed = std::chrono::duration<double>(now - last_).count();
      tokens_ = std::min(burst_, tokens_ + std::max(passed, 0.0) * rate_);
    }
    last_ = now;
    tokens_ -= 1;
    if (tokens_ >= 0) return std::chrono::milliseconds(0);
    return std::chrono::ceil<std::chrono::milliseconds>(
        std::chrono::duration<double>(-tokens_ / rate_));
  }

 private:
  double rate_;
  double burst_;
  double tokens_;
  Clock::time_point last_;
};

}  // namespace tranche::kube
