// SPDX-License-Identifier: Apache-2.0
//
// Parses values of the cluster's options. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "core/settings/cluster_options.h"

namespace tranche::programs {

// "aliyun.com/gpu-count=gpus", "example.com/dongle=4".
Result<ExtendedResource> parse_extended_resource(std::string_view text);

// What Kubernetes takes as the type of a condition: "GpusHealthy", "example.com/GpusHealthy".
// Empty is none.
bool is_condition_type(std::string_view text);

}  // namespace tranche::programs
