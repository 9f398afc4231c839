// SPDX-License-Identifier: Apache-2.0
#include "demo/interrupt.h"

#include <poll.h>
#include <signal.h>

#include "os/signals.h"

namespace tranche::demo {

Interrupt::Interrupt() {
  // Without signals nothing asks for the end, and the default action ends us.
  if (Result<UniqueFd> signals = take_signals({SIGHUP, SIGINT, SIGTERM, SIGQUIT}); signals) {
    signals_ = *std::move(signals);
  }
}

bool Interrupt::wait(std::chrono::milliseconds patience) {
  if (asked_) return true;
  pollfd waited{signals_.get(), POLLIN, 0};
  asked_ = ::poll(&waited, 1, static_cast<int>(patience.count())) > 0;
  return asked_;
}

}  // namespace tranche::demo
