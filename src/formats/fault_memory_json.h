// SPDX-License-Identifier: Apache-2.0
//
// What must outlive the agent: open faults, who the GPUs concerned are (a lost
// one does not say any more), and the counters that show a reset. As JSON text,
// for a file in the state folder.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "core/health/node_state.h"

namespace tranche::formats {

std::string to_fault_memory(const NodeState& state);

// A state that knows only what was remembered. Sessions start anew, so that
// what the driver says from now on counts as said in a fresh one.
Result<NodeState> parse_fault_memory(std::string_view text);

}  // namespace tranche::formats
