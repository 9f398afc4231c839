// SPDX-License-Identifier: Apache-2.0
//
// The short forms for what lies between GPUs: `pcie` (groups, or a matrix) and
// `nvlink` (switches, pairs, or a matrix). They fill in the GPUs' own places
// and links. Internal to parse.cc.
#pragma once

#include "testbed/world/world.h"
#include "testbed/world/yaml_reader.h"

namespace tranche::testbed::sim {

void read_groups(YamlReader& top, World& world);

}  // namespace tranche::testbed::sim
