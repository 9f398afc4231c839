// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/health/driver_reading.h"
#include "node/driver/nvml/session.h"
#include "node/driver/nvml/witness.h"

namespace tranche::node::nvml {

// What tells of a GPU's health. What the driver does not say stays empty: the
// GPU has answered before, so a value that is missing is no failure of it.
Vitals read_vitals(const Session& session, abi::Device handle, const ReadRequest& request,
                   Witness& witness);

}  // namespace tranche::node::nvml
