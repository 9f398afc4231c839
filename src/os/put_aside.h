// SPDX-License-Identifier: Apache-2.0
//
// Renames an unreadable file of the state folder, so that the next write does not destroy what a
// person may want to inspect.
#pragma once

#include <string>

#include "base/result.h"

namespace tranche::os {

// Renames it to "<path>.unreadable", or ".unreadable.2" and so on, and returns the new name.
// Keeps earlier ones: they may be worth repairing.
Result<std::string> put_aside(const std::string& path);

}  // namespace tranche::os
