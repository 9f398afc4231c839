// SPDX-License-Identifier: Apache-2.0
//
// Words of the GpuNode object. Constant data; the other words are the configuration's.
#pragma once

#include "base/words.h"
#include "core/gpu/topology.h"

namespace tranche::formats {

inline constexpr Word<PcieDistance> kPcieDistances[] = {
    {"same-board", PcieDistance::kSameBoard},
    {"one-switch", PcieDistance::kOneSwitch},
    {"several-switches", PcieDistance::kSeveralSwitches},
    {"host-bridge", PcieDistance::kHostBridge},
    {"same-numa-node", PcieDistance::kSameNode},
    {"across-system", PcieDistance::kAcrossSystem},
    {"unknown", PcieDistance::kUnknown}};

}  // namespace tranche::formats
