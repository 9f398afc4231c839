// SPDX-License-Identifier: Apache-2.0
//
// World files: YAML in, YAML out. Reading is strict: an unknown or repeated key
// is an error that names the line and the nearest key. What emit_world() writes
// parses back to an equal World. docs: sim/README.md has every key.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "testbed/world/world.h"

namespace tranche::testbed::sim {

// `file` is what errors name.
Result<World> parse_world(std::string_view text, const std::string& file);
Result<World> load_world(const std::string& path);

std::string emit_world(const World& world);

}  // namespace tranche::testbed::sim
