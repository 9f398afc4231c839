// SPDX-License-Identifier: Apache-2.0
//
// GPU errors in records of the kernel's log. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/health/kernel_xid.h"

namespace tranche::formats {

// Parses one record of /dev/kmsg ("6,1234,5678,-;NVRM: Xid (PCI:0000:05:00): 79, …"). Empty if it
// is no GPU error, or if the kernel did not write it: any program may write lines of its own.
std::optional<KernelXid> parse_kernel_record(std::string_view record);

// Parses a record in which the driver names the GPU at an address, as before its first error:
// "NVRM: GPU at PCI:0000:91:00: GPU-…".
std::optional<std::pair<PciAddress, std::string>> parse_introduction(std::string_view record);

}  // namespace tranche::formats
