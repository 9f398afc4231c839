// SPDX-License-Identifier: Apache-2.0
//
// Which devices a row of the configuration means.
#pragma once

#include <string>
#include <vector>

#include "sharing/catalog.h"
#include "sharing/policy.h"

namespace tranche {

// Whether a GPU's index or uuid also stands for the slices it is cut into.
enum class SlicesByGpu { kNo, kYes };

// Asked about devices in their order, because a selection may be "the first
// two".
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

// What is selected and not among the devices, a sentence each.
std::vector<std::string> missing(const DeviceSelection& selection,
                                 const std::vector<const OfferedDevice*>& devices,
                                 SlicesByGpu slices = SlicesByGpu::kNo);

}  // namespace tranche
