// SPDX-License-Identifier: Apache-2.0
//
// A GPU's PCI address. The driver, the kernel's folders and the kernel's log each format it
// differently; compare values, never texts.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tranche::core {

struct PciAddress {
  std::uint32_t domain = 0;
  std::uint32_t bus = 0;
  std::uint32_t device = 0;
  std::uint32_t function = 0;

  auto operator<=>(const PciAddress&) const = default;
};

// Takes every form met in the field: "00000000:07:00.0" (NVML),
// "0000:07:00.0" (kernel), "07:00.0" (short), "0000:07:00" and "PCI:0000:07:00" (kernel log).
std::optional<PciAddress> parse_pci_address(std::string_view text);

// "0000:07:00.0", as folders below /sys/bus/pci/devices are named.
std::string to_string(const PciAddress& address);

}  // namespace tranche::core
