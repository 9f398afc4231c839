// SPDX-License-Identifier: Apache-2.0
//
// GPU numbers: the indexes of GPUs in the configuration, the tables and the log. A number belongs
// to a PCI address, because the driver counts its GPUs again each time it is opened, and a
// missing GPU would shift all that follow.
#pragma once

#include <map>
#include <string>

#include "core/gpu/gpu.h"

namespace tranche::core {

struct NumberedSlot {
  PciAddress pci;
  GpuUuid uuid;       // last seen there; empty: that card is in another slot now
  std::string model;  // of that card

  bool operator==(const NumberedSlot&) const = default;
};

using GpuNumbers = std::map<unsigned, NumberedSlot>;

}  // namespace tranche::core
