// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "inventory/gpu_source.h"
#include "nvml/session.h"

namespace tranche::nvml {

// What tells of a GPU's health. What the driver does not say stays empty: the
// GPU has answered before, so a value that is missing is no failure of it.
Vitals read_vitals(const Session& session, abi::Device handle, const ReadWish& wish);

}  // namespace tranche::nvml
