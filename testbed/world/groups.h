// SPDX-License-Identifier: Apache-2.0
//
// The short forms for what lies between GPUs: `pcie` (groups, or a matrix) and
// `nvlink` (switches, pairs, or a matrix). They fill in the GPUs' own places
// and links. Internal to parse.cc.
#pragma once

#include "sim/world/world.h"
#include "sim/world/yaml_reader.h"

namespace tranche::sim {

void read_groups(YamlReader& top, World& world);

}  // namespace tranche::sim
