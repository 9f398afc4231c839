// SPDX-License-Identifier: Apache-2.0
//
// What the driver tells of a GPU beyond what the agent needs.
#pragma once

#include "node/capture/captured.h"
#include "node/driver/nvml/session.h"

namespace tranche::node {

// Fills in what can be had; what the driver does not have stays empty.
void read_details(const nvml::Session& session, nvml::abi::Device gpu, CapturedGpu& captured);

}  // namespace tranche::node
