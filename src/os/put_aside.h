// SPDX-License-Identifier: Apache-2.0
//
// A file of the state folder that cannot be understood is renamed, so that the next write
// does not destroy what a person may want to look at.
#pragma once

#include <string>

#include "base/result.h"

namespace tranche::os {

// Renames it to "<path>.unreadable", or ".unreadable.2" and so on, and returns that. One that
// was put aside earlier stays: it may be the one that is worth repairing.
Result<std::string> put_aside(const std::string& path);

}  // namespace tranche::os
