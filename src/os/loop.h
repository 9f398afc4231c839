// SPDX-License-Identifier: Apache-2.0
//
// The main loop of a program: waits for descriptors and times, and calls what belongs to them,
// one after the other on the thread that runs it. What it calls must not block, because everything
// else waits meanwhile.
//
// Not thread-safe: belongs to the thread that calls run(). Other threads wake it through a WakeFd.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "os/unique_fd.h"
#include "os/wake_fd.h"

namespace tranche::os {

class Loop {
 public:
  using Clock = std::chrono::steady_clock;

  // Something with a descriptor to watch, a time at which it is due, or both. They are asked for
  // before each wait, because both may change.
  struct Source {
    std::function<int()> fd;                                // -1: none now; not set: never one
    std::function<std::optional<Clock::time_point>()> due;  // not set: never due by itself
    // Called in every round, because a round of one source may be news for another.
    std::function<void(Clock::time_point now)> look;
  };
  void add(Source source);

  // A descriptor that is called for only when it is readable.
  void on_readable(int fd, std::function<void()> call);
  // Takes back the rings and calls.
  void on_ring(const WakeFd& wake, std::function<void()> call);
  // Each signal of take_signals().
  void on_signal(const UniqueFd& signals, std::function<void(int signal)> call);
  // The first time after one period. A call that is late does not move the next one closer.
  void every(std::chrono::milliseconds period, std::function<void()> call);
  // At the end of each round, after all sources.
  void after_each(std::function<void()> call);

  // Rounds until stop(), which one of the calls makes. The rest of that round is left out.
  void run();
  void stop() { stopped_ = true; }

 private:
  struct Readable {
    int fd = -1;
    std::function<void()> call;
  };

  void round();
  int pause(Clock::time_point now) const;

  std::vector<Readable> readables_;
  std::vector<Source> sources_;
  std::vector<std::function<void()>> after_each_;
  bool stopped_ = false;
};

}  // namespace tranche::os
