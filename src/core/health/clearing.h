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

// Evidence from one reading of a GPU that answered.
struct Evidence {
  Vitals vitals;
  std::string boot_id;  // empty: not known
  std::uint64_t session = 0;
  bool unwatched = false;
  std::optional<std::uint64_t> binding;  // of the kernel's driver to the card
};

// Whether the counters show that the GPU was reset, or the driver reloaded, between two readings:
// otherwise they only grow. A driver that no process has open drops them without a reset, so
// readings of two sessions are compared only if persistence mode was on in both.
bool shows_reset(const Vitals& before, const Vitals& after, bool same_session);
// "the energy counter fell"; empty: none shows a reset.
std::string_view fallen_counter(const Vitals& before, const Vitals& after, bool same_session);

// Whether this reading clears the fault. `fault` includes the evidence from before (driver_asked,
// reset_seen).
bool clears(const Fault& fault, const Evidence& evidence);

// The evidence in this reading, for people, if clears() is true.
std::string why_cleared(const Fault& fault, const Evidence& evidence);

// How many good readings in a row a recovery needs, for a GPU that recovered `recently`
// times: doubled each time, up to a maximum.
unsigned readings_needed(Clearance clearance, std::size_t recently);

}  // namespace tranche::core
