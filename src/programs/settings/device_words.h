// SPDX-License-Identifier: Apache-2.0
//
// Parses and prints names of devices: indexes, uuids, PCI addresses, model patterns. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "core/sharing/policy.h"

namespace tranche::programs {

// An item of a `devices` list: "0", "0:1", GPU-<uuid>, MIG-<uuid> or the older MIG-GPU-<uuid>/<gpu
// instance>/<compute instance>. Converts hexadecimal digits to lower case, as in the driver.
Result<DeviceRef> parse_device_ref(std::string_view text);
std::string to_text(const DeviceRef& device);

// An item of --exclude-devices.
Result<Exclusion> parse_exclusion(std::string_view text);
std::string to_text(const Exclusion& exclusion);

}  // namespace tranche::programs
