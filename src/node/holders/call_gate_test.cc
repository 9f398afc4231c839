// SPDX-License-Identifier: Apache-2.0
#include "node/holders/call_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
