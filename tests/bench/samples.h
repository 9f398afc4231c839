// SPDX-License-Identifier: Apache-2.0
//
// Figures of one kind, and what is said of them. Pure.
#pragma once

#include <utility>
#include <vector>

namespace tranche::bench {

// The figure that a share `part` of all lie at or below: 0.5 is the median,
// 0.99 what one call in a hundred exceeds. 0 where there are none.
double percentile(std::vector<double> figures, double part);

inline double median(std::vector<double> figures) { return percentile(std::move(figures), 0.5); }

// The power of n that the time grows with, from a measurement at n to one at
// m: 1 is linear, 2 quadratic.
double growth(double n, double time_at_n, double m, double time_at_m);

}  // namespace tranche::bench
