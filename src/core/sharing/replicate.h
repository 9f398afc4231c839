// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sharing/catalog.h"
#include "sharing/policy.h"

namespace tranche {

using DevicesByName = std::map<ResourceName, std::vector<OfferedDevice>>;

// Applies sharing.timeSlicing or sharing.mps: each row takes its devices out of
// the resource it names and puts them back with replicas, under the new name if
// there is one. What a row asks for and is not there is noted.
void replicate(DevicesByName& offers, const SharingPolicy& policy, std::vector<std::string>& notes);

}  // namespace tranche
