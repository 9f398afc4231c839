// SPDX-License-Identifier: Apache-2.0
//
// GPU numbers. A number is bound to a PCI address when a GPU is first seen there, and stays bound
// while the slot is empty, so that an index in the configuration always means the same slot.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "core/gpu/gpu_numbers.h"
#include "core/health/driver_reading.h"

namespace tranche::core {

// Binds the GPUs of one reading of the driver, in the driver's order; `index` is the
// driver's.
//  - A PCI address that has a number keeps it, whichever card is there.
//  - A card that has left its slot for an address without a number takes its
//    number along: it was moved, or the bus was renumbered.
//  - Any other GPU gets the driver's index where that number is free, else the
//    lowest free one.
// A GPU whose PCI address is not known is not bound.
GpuNumbers with_gpus(GpuNumbers numbers, const std::vector<Gpu>& gpus);

// The same for a reading. Only the driver's library binds: device nodes are
// counted in another way.
GpuNumbers with_reading(GpuNumbers numbers, const DriverReading& reading);

// The number of each GPU, in their order; no two are the same. One that is not
// bound has the driver's index where that is free, else the lowest free number.
std::vector<unsigned> numbers_of(const GpuNumbers& numbers, const std::vector<Gpu>& gpus);

// Changes of the numbers, for the log.
struct NumberChange {
  bool is_warning = false;
  std::string what;
  unsigned number = 0;
  NumberedSlot slot;   // now; of one that was forgotten: before
  std::string detail;  // what it was before, or the model; may be empty

  bool operator==(const NumberChange&) const = default;
};
std::vector<NumberChange> changes_between(const GpuNumbers& before, const GpuNumbers& after);

}  // namespace tranche::core
