// SPDX-License-Identifier: Apache-2.0
//
// Folders that must be right before the agent begins.
#pragma once

#include <string>

#include "core/settings/settings.h"
#include "os/log.h"

namespace tranche::programs {

// Where it cannot be made we do without. False: others may have made it or can put
// files into it, and we must not begin: what is in it is believed, and commands come
// through it.
bool make_state_folder(const std::string& folder, Log& log);

// Says it where the folder for -host-path is missing.
void check_driver_folder(const Settings& settings, Log& log);

}  // namespace tranche::programs
