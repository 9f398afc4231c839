// SPDX-License-Identifier: Apache-2.0
//
// The node of the demo: eight GPUs in four pairs, each pair with an NVLink
// bridge, so that it matters which two a pod gets. The last one is cut with MIG.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/result.h"
#include "testbed/world/world.h"

namespace tranche::demo {

Result<sim::World> demo_world();

// The place of a GPU in the world; empty when there is no such uuid.
std::optional<std::size_t> place_of(const sim::World& world, const std::string& uuid);

// How many NVLinks join two GPUs.
std::size_t links_between(const sim::World& world, std::size_t a, std::size_t b);

}  // namespace tranche::demo
