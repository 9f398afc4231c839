// SPDX-License-Identifier: Apache-2.0
#include "os/loop.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>

#include "os/signals.h"

namespace tranche::os {
namespace {

using std::chrono_literals::operator""ms;

TEST(Loop, CallsForARingOfAnotherThread) {
  Loop loop;
  const WakeFd wake;
  loop.on_ring(wake, [&] { loop.stop(); });
  const std::jthread other([&] { wake.ring(); });
  loop.run();
}

TEST(Loop, TakesBackTheRingsBeforeItCalls) {
  Loop loop;
  const WakeFd wake;
  int calls = 0;
  wake.ring();
  wake.ring();
  loop.on_ring(wake, [&] { ++calls; });
  loop.every(1ms, [&] { loop.stop(); });
  loop.run();
  EXPECT_EQ(calls, 1);
}

TEST(Loop, GivesEachSignal) {
  const Result<UniqueFd> signals = take_signals({SIGUSR1, SIGUSR2});
  ASSERT_TRUE(signals);
  Loop loop;
  std::vector<int> seen;
  loop.on_signal(*signals, [&](int signal) {
    seen.push_back(signal);
    if (seen.size() == 2) loop.stop();
  });
  ::kill(::getpid(), SIGUSR1);
  ::kill(::getpid(), SIGUSR2);
  loop.run();
  EXPECT_EQ(seen, (std::vector{SIGUSR1, SIGUSR2}));
}

TEST(Loop, AsksEverySourceInEachRound) {
  Loop loop;
  const WakeFd wake;
  int looks = 0;
  wake.ring();
  loop.on_ring(wake, [] {});
  loop.add({.look = [&](Loop::Clock::time_point) {
    ++looks;
    loop.stop();
  }});
  loop.run();
  EXPECT_EQ(looks, 1);
}

TEST(Loop, WakesForASourceThatIsDueThoughNothingIsReadable) {
  Loop loop;
  const auto due = Loop::Clock::now() + 5ms;
  loop.add({.due = [due] { return due; },
            .look =
                [&](Loop::Clock::time_point now) {
                  if (now >= due) loop.stop();
                }});
  loop.run();
  EXPECT_GE(Loop::Clock::now(), due);
}

TEST(Loop, WatchesTheDescriptorThatASourceHasNow) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const UniqueFd in(ends[0]), out(ends[1]);
  Loop loop;
  bool is_open = false;
  const WakeFd wake;
  wake.ring();
  loop.on_ring(wake, [&] {
    is_open = true;
    ASSERT_EQ(::write(out.get(), "x", 1), 1);
  });
  int rounds = 0;
  loop.add({.fd = [&] { return is_open ? in.get() : -1; },
            .look =
                [&](Loop::Clock::time_point) {
                  // The second round comes only because the descriptor is readable.
                  if (++rounds == 2) loop.stop();
                }});
  loop.run();
  EXPECT_EQ(rounds, 2);
}

TEST(Loop, LeavesTheRestOfTheRoundOutWhenItIsStopped) {
  Loop loop;
  const WakeFd wake;
  wake.ring();
  loop.on_ring(wake, [&] { loop.stop(); });
  loop.add({.look = [](Loop::Clock::time_point) { FAIL(); }});
  loop.after_each([] { FAIL(); });
  loop.run();
}

TEST(Loop, EndsEachRoundWithWhatComesAfterAllSources) {
  Loop loop;
  std::string order;
  const WakeFd wake;
  wake.ring();
  loop.after_each([&] {
    order += 'z';
    loop.stop();
  });
  loop.on_ring(wake, [&] { order += 'a'; });
  loop.add({.look = [&](Loop::Clock::time_point) { order += 'b'; }});
  loop.run();
  EXPECT_EQ(order, "abz");
}

TEST(Loop, CallsAgainAfterEachPeriod) {
  Loop loop;
  int calls = 0;
  loop.every(1ms, [&] {
    if (++calls == 3) loop.stop();
  });
  loop.run();
  EXPECT_EQ(calls, 3);
}

}  // namespace
}  // namespace tranche::os
