// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace tranche::core {

// Timeouts and intervals.
struct MpsTimings {
  using Ms = std::chrono::milliseconds;
  Ms answer{5'000};    // the control program, to a question
  Ms come_up{15'000};  // a daemon, until it answers the first
  Ms client{10'000};   // the canary
  Ms recover{60'000};  // a server that says it is not ready for clients
  Ms look{10'000};     // between two looks at servers and clients
  Ms canary{60'000};   // between two canaries
  Ms holding{10'000};  // how long a pod may hold the daemon's connection silently
  Ms drain{10'000};    // for clients to end by themselves when a daemon goes
  Ms least_backoff{1'000};
  Ms most_backoff{60'000};
};

// The pause before the next start. A daemon that had been ready for longer than
// the longest pause starts from the beginning.
constexpr std::chrono::milliseconds next_backoff(const MpsTimings& timings,
                                                 std::chrono::milliseconds last,
                                                 std::chrono::milliseconds was_ready) {
  if (last == std::chrono::milliseconds(0) || was_ready > timings.most_backoff) {
    return timings.least_backoff;
  }
  return last * 2 < timings.most_backoff ? last * 2 : timings.most_backoff;
}

}  // namespace tranche::core
