// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "core/health/driver_reading.h"
#include "node/driver/nvml/session.h"
#include "node/driver/nvml/witness.h"

namespace tranche::node::nvml {

struct VitalsReading {
  Vitals vitals;
  // Read with the fabric's state. Empty: in none, or not known.
  std::optional<FabricClique> clique;
};

// Reads the values for a GPU's health. Values that the driver does not report stay empty: the GPU
// has answered before, so that is no failure.
VitalsReading read_vitals(const Session& session, abi::Device handle, const ReadRequest& request,
                          Witness& witness);

}  // namespace tranche::node::nvml
