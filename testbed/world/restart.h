// SPDX-License-Identifier: Apache-2.0
//
// What a GPU forgets when it is reset, or when the driver takes it again.
#pragma once

#include "testbed/world/world.h"

namespace tranche::testbed::sim {

// Counters that the driver keeps only while it has the GPU.
void restart_counters(Vitals& vitals);

// What a GPU that was reset has lost and kept.
void restart(World& world, Gpu& gpu);

}  // namespace tranche::testbed::sim
