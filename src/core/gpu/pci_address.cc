// SPDX-License-Identifier: Apache-2.0
#include "core/gpu/pci_address.h"

#include <array>
#include <cstdio>
#include <vector>

#include "base/text.h"

namespace tranche::core {
namespace {

std::optional<std::uint32_t> parse_hex(std::string_view text, std::uint32_t most) {
  const auto value = parse_number<std::uint32_t>(text, 16);
  if (!value || *value > most) return std::nullopt;
  return value;
}

}  // namespace

std::optional<PciAddress> parse_pci_address(std::string_view text) {
  constexpr std::string_view kOfKernelLog = "PCI:";
  if (text.starts_with(kOfKernelLog)) text.remove_prefix(kOfKernelLog.size());
  std::uint32_t function = 0;
  if (const std::size_t dot = text.find('.'); dot != std::string_view::npos) {
    const auto parsed = parse_hex(text.substr(dot + 1), 7);
    if (!parsed) return std::nullopt;
    function = *parsed;
    text = text.substr(0, dot);
  }
  std::vector<std::string> parts = split(text, ':');
  if (parts.size() == 2) parts.insert(parts.begin(), "0");
  if (parts.size() != 3) return std::nullopt;
  const auto domain = parse_hex(parts[0], 0xFFFFFFFF);
  const auto bus = parse_hex(parts[1], 0xFF);
  const auto device = parse_hex(parts[2], 0x1F);
  if (!domain || !bus || !device) return std::nullopt;
  return PciAddress{*domain, *bus, *device, function};
}

std::string to_string(const PciAddress& address) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.%x", address.domain, address.bus,
                address.device, address.function);
  return text.data();
}

}  // namespace tranche::core
