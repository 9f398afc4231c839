// SPDX-License-Identifier: Apache-2.0
//
// Measurements as figures with ratios, for people and for programs. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/measurement.h"

namespace tranche::bench {

// One line of the table.
struct Figure {
  std::string what;
  std::string scenario;
  std::string unit;
  double agent = 0;
  double floor = 0;

  // 0 where the floor has nothing to compare with.
  double ratio() const { return floor > 0 ? agent / floor : 0; }
  bool operator==(const Figure&) const = default;
};

std::vector<Figure> figures_of(const Results& results);

// What we aim at, and whether these measurements have it.
struct Aim {
  std::string text;
  double limit = 0;
  double worst = 0;   // of all scenarios
  std::string where;  // the scenario that was

  bool is_met() const { return worst <= limit; }
  bool operator==(const Aim&) const = default;
};

std::vector<Aim> aims_of(const Results& results);

// A table in Markdown, aligned for reading as it is, and the aims below it.
std::string to_text(const Results& results);
std::string to_json(const Results& results);

}  // namespace tranche::bench
