// SPDX-License-Identifier: Apache-2.0
#include "node/api_server/publication.h"

#include <algorithm>

namespace tranche::node {

std::optional<Publication::Clock::time_point> Publication::due() const {
  if (!wanted_) return std::nullopt;
  if (!attempted_) return Clock::time_point();
  if (!is_written()) return std::max(*attempted_ + rules_.least_pause, retry_at_);
  if (rules_.heartbeat.count() == 0) return std::nullopt;
  return std::max(*attempted_ + rules_.heartbeat, retry_at_);
}

void Publication::wrote(const std::string& content, Clock::time_point now) {
  written_ = content;
  attempted_ = now;
}

void Publication::failed(Clock::time_point now, double chance,
                         std::optional<std::chrono::seconds> retry_after) {
  attempted_ = now;
  retry_at_ = now + backoff_.next(now, chance, retry_after);
}

}  // namespace tranche::node
