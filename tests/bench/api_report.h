// SPDX-License-Identifier: Apache-2.0
//
// What the API features cost, as figures and aims. Pure.
#pragma once

#include <string>
#include <vector>

#include "bench/measurement.h"
#include "bench/report.h"

namespace tranche::bench {

struct ApiFigure {
  std::string what;
  std::string unit;
  double on = 0;
  double off = 0;

  // 0 where there is nothing to compare with.
  double ratio() const { return off > 0 ? on / off : 0; }
  bool operator==(const ApiFigure&) const = default;
};

std::vector<ApiFigure> api_figures(const ApiMeasurement& measured);
std::vector<Aim> api_aims(const ApiMeasurement& measured);

}  // namespace tranche::bench
