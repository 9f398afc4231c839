// SPDX-License-Identifier: Apache-2.0
#include "bench/samples.h"

#include <gtest/gtest.h>

#include <numeric>

namespace tranche::bench {
namespace {

TEST(Percentile, IsAFigureThatWasMeasured) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(percentile({7}, 0.99), 7);
  std::vector<double> figures(101);
  std::iota(figures.begin(), figures.end(), 0);
  EXPECT_EQ(percentile(figures, 0.99), 99);
  EXPECT_EQ(percentile(figures, 1), 100);
}

TEST(Percentile, OfNothingIsZero) { EXPECT_EQ(median({}), 0); }

TEST(Growth, IsThePowerOfTheSize) {
  EXPECT_DOUBLE_EQ(growth(10, 5, 100, 50), 1);
  EXPECT_DOUBLE_EQ(growth(10, 5, 100, 500), 2);
  EXPECT_DOUBLE_EQ(growth(10, 5, 100, 5), 0);
}

}  // namespace
}  // namespace tranche::bench
