// SPDX-License-Identifier: Apache-2.0
//
// The GPU at each PCI address. A card can be swapped while its address stays, and the kernel's
// log names GPUs by address only. Pure.
#pragma once

#include <set>
#include <vector>

#include "core/health/kernel_xid.h"
#include "core/health/node_state.h"

namespace tranche::core {

// The GPUs that reported their identity.
std::set<GpuUuid> named_gpus(const DriverReading& reading);

// A known GPU that lost its PCI address to another one in a reading: the card was swapped, or the
// virtual machine got another one. with_reading() forgets it.
struct Replacement {
  GpuUuid gpu;
  GpuUuid by;
  PciAddress pci;

  bool operator==(const Replacement&) const = default;
};
std::vector<Replacement> replaced_gpus(const NodeState& state, const DriverReading& reading);

// The GPU at a PCI address, or null. If there are several, the one that the last reading named,
// because the others may be gone.
const Gpu* gpu_at(const NodeState& state, const PciAddress& pci);

// The GPU of an error in the kernel's log, or null: the one that the log names, else the one at
// the address.
const Gpu* gpu_of(const NodeState& state, const KernelXid& line);

// Whether the error belongs to a GPU that this reading names and that the state does not
// know at that address.
bool is_of_new_gpu(const NodeState& state, const DriverReading& reading, const KernelXid& line);

}  // namespace tranche::core
