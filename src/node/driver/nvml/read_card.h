// SPDX-License-Identifier: Apache-2.0
//
// Whether the card itself answers. The driver says from memory who a GPU is, and goes
// on saying so when the card is gone.
#pragma once

#include <optional>

#include "node/driver/nvml/session.h"
#include "node/driver/nvml/witness.h"

namespace tranche::node::nvml {

struct CardReading {
  // A value came from the card. False without a failure: none of those that we know is
  // supported, so it cannot be told.
  bool answered = false;
  std::optional<GpuFailure> failure;
};

// Asks for one value after the other until the card answers. Plain calls; they may
// hang.
CardReading read_card(const Session& session, abi::Device handle, Witness& witness);

}  // namespace tranche::node::nvml
