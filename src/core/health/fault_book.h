// SPDX-License-Identifier: Apache-2.0
//
// Opens faults of GPUs and updates them with the GPU's answers and failures. Internal to
// node_state.cc. Pure.
#pragma once

#include "core/health/node_state.h"

namespace tranche::core {

// Opens a fault, or updates the text of an open one.
void open_fault(NodeState& state, Fault fault, const Surroundings& around);

void fold_answer(NodeState& state, const GpuUuid& gpu, const GpuReading& one,
                 const Surroundings& around);
void fold_failure(NodeState& state, const GpuUuid& gpu, const GpuFailure& failure,
                  const Surroundings& around);

}  // namespace tranche::core
