// SPDX-License-Identifier: Apache-2.0
//
// Device selection of a configuration entry.
#pragma once

#include <string>
#include <vector>

#include "core/gpu/inventory.h"
#include "core/sharing/catalog.h"
#include "core/sharing/policy.h"

namespace tranche::core {

// Whether a GPU's index or uuid also stands for its slices.
enum class SlicesByGpu { kNo, kYes };

// Takes devices in their order, because a selection may be "the first two".
class Selector {
 public:
  explicit Selector(const DeviceSelection& selection, SlicesByGpu slices = SlicesByGpu::kNo)
      : selection_(selection), slices_(slices) {}

  bool takes(const OfferedDevice& device);

 private:
  const DeviceSelection& selection_;
  const SlicesByGpu slices_;
  unsigned taken_ = 0;
};

// A note for each selected device that is missing. `inventory` gives the reason.
std::vector<std::string> missing(const DeviceSelection& selection,
                                 const std::vector<const OfferedDevice*>& devices,
                                 const Inventory& inventory, SlicesByGpu slices = SlicesByGpu::kNo);

// Why no GPU has this index: "no GPU has index 9", or "index 2 is PCI address
// 0000:07:00.0, where no GPU is now".
std::string no_such_index(unsigned index, const Inventory& inventory);

}  // namespace tranche::core
