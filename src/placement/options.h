// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tranche {

// Which GPU the next replica is taken from.
enum class SharedPlacement {
  kDistributed,  // the one with the fewest replicas taken
  kPacked,       // the one with the most
};

}  // namespace tranche
