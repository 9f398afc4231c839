// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace tranche::core {

// What node labels say of the machine, besides its GPUs.
struct MachineFacts {
  std::string type;  // its product name, as the firmware has it; empty: not known
  // When the agent started, in seconds since 1970; 0: not labelled.
  std::int64_t timestamp = 0;

  bool operator==(const MachineFacts&) const = default;
};

}  // namespace tranche::core
