// SPDX-License-Identifier: Apache-2.0
//
// A resource name: "nvidia.com/gpu".
#pragma once

#include <string_view>

#include "base/named.h"
#include "base/result.h"

namespace tranche::core {

using ResourceName = Named<struct ResourceNameTag>;

// Parses a name as NVIDIA's configuration does: without a domain it gets "nvidia.com/". At most
// 63 characters, the part behind the slash a DNS-1123 subdomain.
Result<ResourceName> parse_resource_name(std::string_view text);

}  // namespace tranche::core
