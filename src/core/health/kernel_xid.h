// SPDX-License-Identifier: Apache-2.0
//
// A GPU error in the kernel's log.
#pragma once

#include <string>

#include "core/gpu/pci_address.h"

namespace tranche::core {

struct KernelXid {
  PciAddress pci;
  unsigned xid = 0;
  std::string text;  // the driver's text
  std::string uuid;  // of the GPU there, if the log has named it

  bool operator==(const KernelXid&) const = default;
};

}  // namespace tranche::core
