// SPDX-License-Identifier: Apache-2.0
//
// A GPU as JSON, for files in the state folder: everything that the driver said of it.
// Health and the driver's index are not in it. Pure; reading throws as nlohmann's does.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/gpu/gpu.h"

namespace tranche::formats {

nlohmann::ordered_json gpu_to_json(const Gpu& gpu);
Gpu gpu_from_json(const nlohmann::ordered_json& json);

}  // namespace tranche::formats
