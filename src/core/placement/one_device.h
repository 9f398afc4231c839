// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "core/placement/candidates.h"
#include "core/sharing/catalog.h"

namespace tranche::core {

// Chooses shares that must all be of one device: units of memory, or whatever goes through
// one MPS daemon. By default the device with the least free where they fit, so that large
// requests stay possible; with spread the one with the most. A device that the container
// has something of already comes before all others. Where they fit nowhere, all from the
// one with the most free: the request cannot be met, and Allocate refuses it.
std::vector<std::string_view> pick_from_one_device(const Offer& offer, const Choice& choice);

}  // namespace tranche::core
