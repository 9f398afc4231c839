// SPDX-License-Identifier: Apache-2.0
//
// How like devices are shared, as their labels say it. Pure.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/sharing/catalog.h"
#include "core/sharing/resource_name.h"

namespace tranche::core {

struct DeviceSharing {
  // Shares of each device; 0: they are not offered. Empty: shares are units of memory, or the
  // devices have different numbers.
  std::optional<unsigned> replicas = 0;
  std::string_view strategy = "none";  // or "mps", "time-slicing"
  // A container that asks for the usual name shares its device with others.
  bool is_shared_under_usual_name = false;
};

// Of the devices with these uuids. They may have several names. Their usual one counts, else the
// name that offers the most of them, because labels describe one resource.
DeviceSharing sharing_of(const std::set<std::string>& devices,
                         const std::optional<ResourceName>& usual_name, const Catalog& catalog);

// Whether containers of this resource share a device through MPS.
bool is_shared_by_mps(const Offer& offer);

}  // namespace tranche::core
