// SPDX-License-Identifier: Apache-2.0
#include "demo/interrupt.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

namespace tranche::demo {

Interrupt::Interrupt() {
  sigset_t wanted;
  ::sigemptyset(&wanted);
  for (const int signal : {SIGHUP, SIGINT, SIGTERM, SIGQUIT}) ::sigaddset(&wanted, signal);
  ::pthread_sigmask(SIG_BLOCK, &wanted, nullptr);
  // A reader that goes away must not end us before we have cleaned up.
  ::signal(SIGPIPE, SIG_IGN);
  signals_.reset(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
}

bool Interrupt::wait(std::chrono::milliseconds patience) {
  if (asked_) return true;
  pollfd waited{signals_.get(), POLLIN, 0};
  asked_ = ::poll(&waited, 1, static_cast<int>(patience.count())) > 0;
  return asked_;
}

}  // namespace tranche::demo
