// SPDX-License-Identifier: Apache-2.0
//
// Any arguments, variables and file: no crash, no hang, and what loads can be
// printed and loaded again as the same settings.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "programs/settings/testing/round_trip.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(data, data + size);
  const auto problem = tranche::programs::testing::round_trip_problem(
      tranche::programs::testing::split_input(input));
  if (problem) {
    std::fprintf(stderr, "%s\n", problem->c_str());
    std::abort();
  }
  return 0;
}
