// SPDX-License-Identifier: Apache-2.0
#include "os/signals.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "os/errno_error.h"

namespace tranche::os {

Result<UniqueFd> take_signals(std::initializer_list<int> signals) {
  sigset_t wanted;
  ::sigemptyset(&wanted);
  for (const int signal : signals) ::sigaddset(&wanted, signal);
  ::pthread_sigmask(SIG_BLOCK, &wanted, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  UniqueFd fd(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return errno_error("signalfd");
  return fd;
}

std::optional<int> next_signal(const UniqueFd& signals) {
  signalfd_siginfo info{};
  if (::read(signals.get(), &info, sizeof(info)) != sizeof(info)) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

bool asks_to_end(const UniqueFd& signals, std::chrono::milliseconds patience) {
  pollfd polled{signals.get(), POLLIN, 0};
  if (::poll(&polled, 1, static_cast<int>(patience.count())) != 1) return false;
  const std::optional<int> signal = next_signal(signals);
  return signal == SIGTERM || signal == SIGINT || signal == SIGQUIT;
}

}  // namespace tranche::os
