// SPDX-License-Identifier: Apache-2.0
//
// The agent's effective configuration as a tree in the file's format. Pure.
#pragma once

#include "os/settings/effective.h"
#include "programs/settings/load.h"

namespace tranche::programs {

Effective effective(const Loaded& loaded);

}  // namespace tranche::programs
