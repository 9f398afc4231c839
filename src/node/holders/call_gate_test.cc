// SPDX-License-Identifier: Apache-2.0
#include "node/holders/call_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>

namespace tranche::node {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(CallGate, IsQuietBeforeTheFirstCall) {
  EXPECT_EQ(CallGate().time_until_quiet(hours(1)), milliseconds(0));
}

TEST(CallGate, IsNotQuietWhileACallIsOpen) {
  CallGate gate;
  const CallGate::Call call(gate);
  EXPECT_EQ(gate.time_until_quiet(milliseconds(0)), std::nullopt);
}

TEST(CallGate, WaitsForTheLastOfSeveralCalls) {
  CallGate gate;
  const CallGate::Call outer(gate);
  {
    const CallGate::Call inner(gate);
  }
  EXPECT_EQ(gate.time_until_quiet(milliseconds(0)), std::nullopt);
}

TEST(CallGate, StaysShutForAMomentAfterACall) {
  CallGate gate;
  {
    const CallGate::Call call(gate);
  }
  EXPECT_THAT(
      gate.time_until_quiet(hours(1)),
      testing::Optional(testing::AllOf(testing::Gt(milliseconds(0)), testing::Le(hours(1)))));
  EXPECT_EQ(gate.time_until_quiet(milliseconds(0)), milliseconds(0));
}

// A second thread begins and ends calls all the time.
TEST(CallGate, CountsTheCallsOfSeveralThreads) {
  CallGate gate;
  std::atomic<int> made{0};
  std::atomic<bool> done{false};
  std::latch started(2);
  std::thread other([&] {
    started.arrive_and_wait();
    while (!done) {
      const CallGate::Call call(gate);
      ++made;
    }
  });
  started.arrive_and_wait();
  bool was_quiet = false;
  {
    const CallGate::Call open(gate);
    while (made < 1'000) was_quiet |= gate.time_until_quiet(milliseconds(0)).has_value();
  }
  EXPECT_FALSE(was_quiet);
  // Both threads change the count; a lost change would leave the gate shut, or open in a call.
  const int before = made;
  for (int i = 0; i < 1'000 || made < before + 1'000; ++i) const CallGate::Call mine(gate);
  done = true;
  other.join();
  EXPECT_EQ(gate.time_until_quiet(milliseconds(0)), milliseconds(0));
  const CallGate::Call last(gate);
  EXPECT_EQ(gate.time_until_quiet(milliseconds(0)), std::nullopt);
}

TEST(LeastQuiet, IsAllOfItAtFirst) {
  EXPECT_EQ(least_quiet(milliseconds(500), milliseconds(0), seconds(5)), milliseconds(500));
  EXPECT_EQ(least_quiet(milliseconds(500), milliseconds(4'999), seconds(5)), milliseconds(500));
}

TEST(LeastQuiet, IsLessTheLongerAListIsDelayed) {
  EXPECT_EQ(least_quiet(milliseconds(500), milliseconds(5'000), seconds(5)), milliseconds(250));
  EXPECT_EQ(least_quiet(milliseconds(500), milliseconds(10'000), seconds(5)), milliseconds(125));
  EXPECT_EQ(least_quiet(milliseconds(500), milliseconds(60'000), seconds(5)), milliseconds(0));
  EXPECT_EQ(least_quiet(milliseconds(500), hours(1'000'000), seconds(5)), milliseconds(0));
}

}  // namespace
}  // namespace tranche::node
