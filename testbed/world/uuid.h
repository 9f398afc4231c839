// SPDX-License-Identifier: Apache-2.0
//
// UUIDs that are always the same for the same thing, so that a world file need
// not name them and tests can. Pure.
#pragma once

#include <string>
#include <string_view>

namespace tranche::testbed::sim {

// 36 characters, from `seed` alone. `version` is the first digit of the third
// group.
std::string uuid_from(std::string_view seed, char version = '4');

}  // namespace tranche::testbed::sim
