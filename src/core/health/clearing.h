// SPDX-License-Identifier: Apache-2.0
//
// Whether a reading of a GPU clears a fault. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/health/driver_reading.h"
#include "core/health/fault.h"

namespace tranche::core {

// What one reading says of a GPU that answered.
struct Evidence {
  Vitals vitals;
  std::string boot_id;  // empty: not known
  std::uint64_t session = 0;
  bool unwatched = false;
  std::optional<std::uint64_t> binding;  // of the kernel's driver to the card
};

// Whether the counters show that the GPU was reset, or the driver loaded again, between two
// readings: they only ever grow otherwise. A driver that no process has open forgets them
// without a reset, so readings of two sessions are compared only where persistence mode was
// on in both.
bool shows_reset(const Vitals& before, const Vitals& after, bool same_session);
// "the energy counter fell"; empty: none shows a reset.
std::string_view fallen_counter(const Vitals& before, const Vitals& after, bool same_session);

// Whether the fault's condition is fulfilled by this reading. `fault` has been
// updated with what was seen before (driver_asked, reset_seen).
bool clears(const Fault& fault, const Evidence& evidence);

// What this reading shows, for people, where clears() is true.
std::string why_cleared(const Fault& fault, const Evidence& evidence);

// How many good readings in a row a recovery needs, for a GPU that recovered `recently`
// times: doubled each time, up to a maximum.
unsigned readings_needed(Clearance clearance, std::size_t recently);

}  // namespace tranche::core
