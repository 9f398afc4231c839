// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tranche {

// A free share and the device of the offer it sits on.
struct Candidate {
  std::string_view id;
  std::uint32_t device = 0;   // position in Offer::devices
  std::uint32_t replica = 0;  // of the device; 0 where it is whole
};

// What there is to choose from, and how much.
struct Choice {
  std::vector<Candidate> candidates;
  std::vector<std::size_t> decided;  // devices that the container has already
  std::size_t needed = 0;            // how many more
  // How many of each device may be taken at most, by what other names hold.
  std::vector<std::size_t> room;
};

}  // namespace tranche
