// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/gpu/inventory.h"
#include "core/sharing/catalog.h"
#include "core/sharing/policy.h"

namespace tranche::core {

using DevicesByName = std::map<ResourceName, std::vector<OfferedDevice>>;

// Applies sharing.timeSlicing or sharing.mps: each row takes its devices out of the resource it
// names and returns them with replicas, under the new name if there is one. Adds a note for
// everything a row names that does not exist.
void replicate(DevicesByName& offers, const SharingPolicy& policy, const Inventory& inventory,
               std::vector<std::string>& notes);

}  // namespace tranche::core
