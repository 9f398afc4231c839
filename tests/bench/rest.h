// SPDX-License-Identifier: Apache-2.0
//
// What a process does while nothing is asked of it. Pure.
#pragma once

#include <chrono>

#include "bench/process_figures.h"

namespace tranche::bench {

struct Rest {
  double cpu_us_per_s = 0;     // 10,000 would be one percent of a core
  double driver_us_per_s = 0;  // of that, in calls of the simulated driver
  double wakes_per_s = 0;

  // Without the simulated driver.
  double own_us_per_s() const { return cpu_us_per_s - driver_us_per_s; }
  bool operator==(const Rest&) const = default;
};

Rest rest_between(const ActivityFigures& before, const ActivityFigures& after,
                  std::chrono::nanoseconds time);

}  // namespace tranche::bench
