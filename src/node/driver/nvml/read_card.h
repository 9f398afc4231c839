// SPDX-License-Identifier: Apache-2.0
//
// Checks whether the card itself answers. The driver knows a GPU's identity from memory, even when
// the card is gone.
#pragma once

#include <optional>

#include "node/driver/nvml/session.h"
#include "node/driver/nvml/witness.h"

namespace tranche::node::nvml {

struct CardReading {
  // A value came from the card. False without a failure: the card supports none of the values.
  bool answered = false;
  std::optional<GpuFailure> failure;
};

// Reads one value after the other until the card answers. Plain calls; they may hang.
CardReading read_card(const Session& session, abi::Device handle, Witness& witness);

}  // namespace tranche::node::nvml
