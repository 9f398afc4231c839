// SPDX-License-Identifier: Apache-2.0
#include "bench/rest.h"

#include <gtest/gtest.h>

namespace tranche::bench {
namespace {

TEST(RestBetween, IsPerSecond) {
  const ActivityFigures before{.cpu = std::chrono::milliseconds(1), .sleeps = {{"1", 10}}};
  const ActivityFigures after{.cpu = std::chrono::milliseconds(7),
                              .driver_cpu = std::chrono::milliseconds(2),
                              .sleeps = {{"1", 16}}};
  const Rest rest = rest_between(before, after, std::chrono::seconds(2));
  EXPECT_EQ(rest, (Rest{.cpu_us_per_s = 3000, .driver_us_per_s = 1000, .wakes_per_s = 3}));
  EXPECT_DOUBLE_EQ(rest.own_us_per_s(), 2000);
}

}  // namespace
}  // namespace tranche::bench
