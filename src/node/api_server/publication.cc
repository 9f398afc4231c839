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

bool Publication::overwritten(Clock::time_point now, double chance) {
  const bool goes_on = overwritten_at_ && now - *overwritten_at_ <= rules_.backoff.quiet;
  overwritten_at_ = now;
  overwrites_ = goes_on ? overwrites_ + 1 : 1;
  lost();
  // The first one may be an event from before our last write.
  if (overwrites_ > 1) retry_at_ = now + fight_.next(now, chance);
  return overwrites_ == kFight;
}

void Publication::failed(Clock::time_point now, double chance,
                         std::optional<std::chrono::seconds> retry_after) {
  attempted_ = now;
  lost();  // the server may have taken it all the same, or have lost what it had
  retry_at_ = now + backoff_.next(now, chance, retry_after);
}

}  // namespace tranche::node
