// SPDX-License-Identifier: Apache-2.0
//
// State that must outlive the agent, as JSON text for a file in the state folder: open faults,
// the identity of the GPUs concerned (a lost GPU no longer reports it), and the counters that
// show a reset.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "core/health/node_state.h"

namespace tranche::formats {

std::string to_fault_memory(const NodeState& state);

// The stored state. Sessions start again from 0, so that the driver's next answers count as those
// of a new session.
Result<NodeState> parse_fault_memory(std::string_view text);

}  // namespace tranche::formats
