// SPDX-License-Identifier: Apache-2.0
#include "node/holders/call_gate.h"

#include <algorithm>

namespace tranche::node {

using std::chrono::milliseconds;

milliseconds least_quiet(milliseconds quiet, milliseconds delay, milliseconds patience) {
  for (auto left = delay; left >= patience && quiet > milliseconds(0); left -= patience) {
    quiet /= 2;
  }
  return quiet;
}

std::optional<milliseconds> CallGate::time_until_quiet(milliseconds quiet) const {
  const std::lock_guard lock(mutex_);
  if (open_ > 0) return std::nullopt;
  if (!last_end_) return milliseconds(0);
  const auto left = std::chrono::ceil<milliseconds>(*last_end_ + quiet - Clock::now());
  return std::max(left, milliseconds(0));
}

void CallGate::begin() {
  const std::lock_guard lock(mutex_);
  ++open_;
}

void CallGate::end() {
  const std::lock_guard lock(mutex_);
  --open_;
  last_end_ = Clock::now();
}

}  // namespace tranche::node
