// SPDX-License-Identifier: Apache-2.0
#include "bench/samples.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace tranche::bench {

double percentile(std::vector<double> figures, double part) {
  if (figures.empty()) return 0;
  const double last = static_cast<double>(figures.size()) - 1;
  const auto position = static_cast<std::size_t>(std::ceil(part * last));
  std::ranges::nth_element(figures, figures.begin() + static_cast<std::ptrdiff_t>(position));
  return figures[position];
}

double growth(double n, double time_at_n, double m, double time_at_m) {
  return std::log(time_at_m / time_at_n) / std::log(m / n);
}

}  // namespace tranche::bench
