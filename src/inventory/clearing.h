// SPDX-License-Identifier: Apache-2.0
//
// Whether what is seen of a GPU clears a fault it had. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "inventory/fault.h"
#include "inventory/gpu_source.h"

namespace tranche {

// What one reading says of a GPU that answered.
struct Evidence {
  Vitals vitals;
  std::string boot_id;  // empty: not known
  std::uint64_t session = 0;
  bool unwatched = false;
};

// Whether the counters show that the GPU was reset, or the driver loaded anew,
// between two readings: they only ever grow otherwise.
bool shows_reset(const Vitals& before, const Vitals& after);

// Whether the fault's condition is fulfilled by this reading. `fault` has been
// updated with what was seen before (driver_asked, reset_seen).
bool clears(const Fault& fault, const Evidence& evidence);

// How many readings in a row it takes, for a GPU that recovered `recently` so
// many times: doubled each time, up to a bound.
unsigned readings_needed(Clearance clearance, std::size_t recently);

}  // namespace tranche
