// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tranche::core {

// A free share and the device of the offer it sits on.
struct Candidate {
  std::string_view id;
  std::uint32_t device = 0;   // position in Offer::devices
  std::uint32_t replica = 0;  // of the device; 0 where it is whole
};

// The free shares, and how many are needed.
struct Choice {
  std::vector<Candidate> candidates;
  std::vector<std::size_t> decided;  // devices that the container has already
  std::size_t needed = 0;            // how many more
  // How many shares of each device may be taken at most, considering other names.
  std::vector<std::size_t> room;
};

}  // namespace tranche::core
