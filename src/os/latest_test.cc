// SPDX-License-Identifier: Apache-2.0
#include "os/latest.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace tranche::os {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

TEST(Latest, IsVersionZeroBeforeTheFirstValue) {
  const Latest<int> latest;
  EXPECT_EQ(latest.get().version, 0U);
}

TEST(Latest, DoesNotPublishAnEqualValueAgain) {
  Latest<int> latest;
  EXPECT_TRUE(latest.publish(0));
  EXPECT_FALSE(latest.publish(0));
  EXPECT_TRUE(latest.publish(7));
  EXPECT_EQ(latest.get().version, 2U);
  EXPECT_EQ(*latest.get().value, 7);
}

TEST(Latest, LetsAReaderKeepAnOldValue) {
  Latest<int> latest;
  latest.publish(1);
  const auto old = latest.get();
  latest.publish(2);
  EXPECT_EQ(*old.value, 1);
}

TEST(Latest, WakesEveryWaitingReader) {
  Latest<int> latest;
  std::vector<std::jthread> readers;
  std::vector<int> seen(4);
  for (int& place : seen) {
    readers.emplace_back([&] { place = *latest.wait_newer(0, minutes(1)).value; });
  }
  latest.publish(5);
  readers.clear();  // joins
  EXPECT_EQ(seen, (std::vector<int>{5, 5, 5, 5}));
}

TEST(Latest, ReturnsTheCurrentValueWhenPatienceIsOver) {
  Latest<int> latest;
  latest.publish(1);
  const auto current = latest.wait_newer(1, milliseconds(1));
  EXPECT_EQ(current.version, 1U);
}

}  // namespace
}  // namespace tranche::os
