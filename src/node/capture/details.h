// SPDX-License-Identifier: Apache-2.0
//
// Reads values of a GPU that the agent itself does not need.
#pragma once

#include "node/capture/captured.h"
#include "node/driver/nvml/session.h"

namespace tranche::node {

// Values that the driver does not have stay empty.
void read_details(const nvml::Session& session, nvml::abi::Device gpu, CapturedGpu& captured);

}  // namespace tranche::node
