// SPDX-License-Identifier: Apache-2.0
//
// Signals as a descriptor to poll, so that no handler runs in the middle of anything.
#pragma once

#include <initializer_list>
#include <optional>

#include "base/result.h"
#include "os/unique_fd.h"

namespace tranche::os {

// Takes these signals for the whole process, and ignores SIGPIPE: a reader that goes away is an
// error of a write. Call it before the first thread is made, because threads inherit the mask.
Result<UniqueFd> take_signals(std::initializer_list<int> signals);

// The next one that came; empty: none has. Never blocks.
std::optional<int> next_signal(const UniqueFd& signals);

}  // namespace tranche::os
