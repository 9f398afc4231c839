// SPDX-License-Identifier: Apache-2.0
#include "bench/rest.h"

namespace tranche::bench {

Rest rest_between(const ActivityFigures& before, const ActivityFigures& after,
                  std::chrono::nanoseconds time) {
  const double seconds = std::chrono::duration<double>(time).count();
  const auto us_per_s = [&](std::chrono::nanoseconds used) {
    return std::chrono::duration<double, std::micro>(used).count() / seconds;
  };
  return {us_per_s(after.cpu - before.cpu), us_per_s(after.driver_cpu - before.driver_cpu),
          static_cast<double>(sleeps_between(before, after)) / seconds};
}

}  // namespace tranche::bench
