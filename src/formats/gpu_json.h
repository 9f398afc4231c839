// SPDX-License-Identifier: Apache-2.0
//
// A GPU as JSON, for files in the state folder: everything that the driver reports except health
// and the driver's index. Pure; parsing throws as nlohmann's does.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/gpu/gpu.h"

namespace tranche::formats {

nlohmann::ordered_json gpu_to_json(const Gpu& gpu);
Gpu gpu_from_json(const nlohmann::ordered_json& json);

}  // namespace tranche::formats
