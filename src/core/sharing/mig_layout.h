// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/gpu/gpu.h"

namespace tranche::core {

// The GPUs that do not fit the `single` strategy, each with the reason. The strategy calls
// MIG devices nvidia.com/gpu, so all devices of the node must be alike. Otherwise NVIDIA's
// plugin exits; here the layout that most GPUs have is served (on a tie the one of the
// lowest index), and only the others are left out.
std::map<GpuUuid, std::string> single_misfits(const std::vector<const Gpu*>& gpus);

}  // namespace tranche::core
