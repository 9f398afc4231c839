// SPDX-License-Identifier: Apache-2.0
//
// What an agent would see, for commands where none runs. Reads the driver, what earlier
// agents kept in the state folder, and the kubelet; writes nothing.
#pragma once

#include <string>
#include <vector>

#include "core/settings/settings.h"
#include "programs/device_plugin/node_status.h"

namespace tranche::programs {

NodeStatus own_look(const Settings& settings);

// Why the GPU numbers that were kept cannot be read; empty: they can, or there are none.
std::string numbers_problem(const Settings& settings);

// A note for each file of the state folder that an agent could not understand and put aside,
// with what to do about it.
std::vector<std::string> unreadable_notes(const std::string& state_dir);

}  // namespace tranche::programs
