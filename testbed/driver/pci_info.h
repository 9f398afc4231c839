// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "node/driver/nvml/abi.h"
#include "testbed/world/world.h"

namespace tranche::testbed::sim {

// How the library writes a GPU's PCI identity; also that of a link's far end.
void fill_pci_info(const Gpu& gpu, nvml::abi::PciInfo& info);
// An older form: the first `size` bytes of layout::OldPciInfo.
void fill_old_pci_info(const Gpu& gpu, void* info, std::size_t size);

}  // namespace tranche::testbed::sim
