// SPDX-License-Identifier: Apache-2.0
//
// Signals as a descriptor to poll, so that no handler runs in the middle of anything.
#pragma once

#include <chrono>
#include <initializer_list>
#include <optional>

#include "base/result.h"
#include "os/unique_fd.h"

namespace tranche::os {

// Blocks these signals for the whole process and returns them as a descriptor; ignores SIGPIPE,
// so that a closed reader is a write error. Call before the first thread is created, because
// threads inherit the mask.
Result<UniqueFd> take_signals(std::initializer_list<int> signals);

// The next pending signal; empty if there is none. Never blocks.
std::optional<int> next_signal(const UniqueFd& signals);

// Waits for a signal. True: it is SIGTERM, SIGINT or SIGQUIT.
bool asks_to_end(const UniqueFd& signals, std::chrono::milliseconds patience);

}  // namespace tranche::os
