// SPDX-License-Identifier: Apache-2.0
#include "kube/backoff.h"

#include <gtest/gtest.h>

#include "kube/call_budget.h"

namespace tranche::kube {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""min;

const Backoff::Clock::time_point kStart{1000s};

TEST(Backoff, DoublesUpToItsLimit) {
  Backoff backoff;
  EXPECT_EQ(backoff.next(kStart, 0), 800ms);
  EXPECT_EQ(backoff.next(kStart, 0), 1600ms);
  EXPECT_EQ(backoff.next(kStart, 0), 3200ms);
  for (int i = 0; i < 10; ++i) backoff.next(kStart, 0);
  EXPECT_EQ(backoff.next(kStart, 0), 30s);
}

TEST(Backoff, HasJitterUpToTwice) {
  Backoff backoff;
  EXPECT_EQ(backoff.next(kStart, 0.5), 1200ms);
}

TEST(Backoff, BeginsAgainAfterAQuietTime) {
  Backoff backoff;
  backoff.next(kStart, 0);
  backoff.next(kStart, 0);
  EXPECT_EQ(backoff.next(kStart + 3min, 0), 800ms);
}

TEST(Backoff, WaitsAsLongAsTheServerAsks) {
  Backoff backoff;
  EXPECT_EQ(backoff.next(kStart, 0, 7s), 7s);
  EXPECT_EQ(backoff.next(kStart, 0, 60s), 60s);
}

TEST(CallBudget, LetsABurstThroughAndThenAsManyASecond) {
  CallBudget budget(2, 3);
  EXPECT_EQ(budget.take(kStart), 0ms);
  EXPECT_EQ(budget.take(kStart), 0ms);
  EXPECT_EQ(budget.take(kStart), 0ms);
  EXPECT_EQ(budget.take(kStart), 500ms);
  EXPECT_EQ(budget.take(kStart), 1000ms);
  EXPECT_EQ(budget.take(kStart + 10s), 0ms);
}

}  // namespace
}  // namespace tranche::kube
