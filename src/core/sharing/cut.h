// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/gpu/inventory.h"
#include "core/sharing/catalog.h"
#include "core/sharing/policy.h"

namespace tranche::core {

// A GPU without MIG devices, or a MIG device.
struct WholeDevice {
  OfferedDevice device;
  std::string gpu_model;
  std::optional<std::string> mig_profile;
  // Other MIG devices of its GPU instance share its memory.
  bool shares_memory = false;
};

struct Cuts {
  std::vector<Offer> offers;    // sorted by name; none is empty
  std::set<std::string> taken;  // uuids of devices that a row fits
  std::vector<Withheld> withheld;
  std::vector<std::string> notes;
};

// Applies tranche.policies: each policy offers the devices that it selects, divided into
// shares as it says. Several policies may select a device. `inventory` says why a listed
// device is missing.
Cuts cut(const std::vector<WholeDevice>& devices, const std::vector<ResourcePolicy>& rows,
         const Inventory& inventory);

}  // namespace tranche::core
