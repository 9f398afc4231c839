// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/health/driver_reading.h"
#include "node/driver/nvml/session.h"
#include "node/driver/nvml/witness.h"

namespace tranche::node::nvml {

// Reads the values for a GPU's health. Values that the driver does not report stay empty: the GPU
// has answered before, so that is no failure.
Vitals read_vitals(const Session& session, abi::Device handle, const ReadRequest& request,
                   Witness& witness);

}  // namespace tranche::node::nvml
