// SPDX-License-Identifier: Apache-2.0
#include "os/loop.h"

#include <poll.h>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "os/signals.h"

namespace tranche::os {

void Loop::add(Source source) { sources_.push_back(std::move(source)); }

void Loop::on_readable(int fd, std::function<void()> call) {
  readables_.push_back({fd, std::move(call)});
}

void Loop::on_ring(const WakeFd& wake, std::function<void()> call) {
  on_readable(wake.fd(), [&wake, call = std::move(call)] {
    wake.clear();
    call();
  });
}

void Loop::on_signal(const UniqueFd& signals, std::function<void(int signal)> call) {
  on_readable(signals.get(), [&signals, call = std::move(call)] {
    if (const std::optional<int> signal = next_signal(signals)) call(*signal);
  });
}

void Loop::every(std::chrono::milliseconds period, std::function<void()> call) {
  const auto next = std::make_shared<Clock::time_point>(Clock::now() + period);
  add({.due = [next] { return *next; },
       .look =
           [next, period, call = std::move(call)](Clock::time_point now) {
             if (now < *next) return;
             call();
             *next = Clock::now() + period;
           }});
}

void Loop::after_each(std::function<void()> call) { after_each_.push_back(std::move(call)); }

void Loop::run() {
  while (!stopped_) round();
}

void Loop::round() {
  std::vector<pollfd> fds;
  for (const Readable& each : readables_) fds.push_back({each.fd, POLLIN, 0});
  for (const Source& each : sources_) fds.push_back({each.fd ? each.fd() : -1, POLLIN, 0});
  ::poll(fds.data(), fds.size(), pause(Clock::now()));
  for (std::size_t i = 0; i < readables_.size() && !stopped_; ++i) {
    if (fds[i].revents != 0) readables_[i].call();
  }
  for (std::size_t i = 0; i < sources_.size() && !stopped_; ++i) sources_[i].look(Clock::now());
  for (std::size_t i = 0; i < after_each_.size() && !stopped_; ++i) after_each_[i]();
}

int Loop::pause(Clock::time_point now) const {
  std::optional<Clock::time_point> first;
  for (const Source& each : sources_) {
    const auto due = each.due ? each.due() : std::nullopt;
    if (due && (!first || *due < *first)) first = due;
  }
  if (!first) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*first - now).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, INT_MAX));
}

}  // namespace tranche::os
