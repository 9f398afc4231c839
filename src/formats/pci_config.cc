// SPDX-License-Identifier: Apache-2.0
#include "formats/pci_config.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace tranche::formats {
namespace {

constexpr std::size_t kConfigSize = 256;
constexpr std::size_t kStatus = 0x06;
constexpr unsigned kHasCapabilities = 0x10;
constexpr std::size_t kFirstCapability = 0x34;
constexpr unsigned kVendorSpecific = 0x09;
constexpr unsigned kNoDevice = 0xff;
// In the capability: id, next, length, then "VF", then records of id, length, data.
constexpr std::size_t kFirstRecord = 5;
constexpr unsigned kHostDriverRecord = 0;
constexpr std::size_t kRecordHeader = 2;
constexpr std::size_t kTextSize = 10;  // of the version, and of the branch

unsigned byte_at(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint8_t>(bytes[at]);
}

std::string text_at(std::string_view bytes, std::size_t at) {
  const std::string_view field = bytes.substr(at, kTextSize);
  return std::string(field.substr(0, field.find('\0')));
}

struct Found {
  bool is_broken = false;
  std::string_view capability;  // empty: there is none
};

Found vendor_capability(std::string_view config) {
  std::size_t at = byte_at(config, kFirstCapability);
  // A list that loops has more entries than fit.
  for (std::size_t steps = 0; at != 0; ++steps) {
    if (at + 2 >= kConfigSize || steps > kConfigSize / 4) return {.is_broken = true};
    const unsigned id = byte_at(config, at);
    if (id == kNoDevice) return {.is_broken = true};
    if (id == kVendorSpecific) {
      const std::size_t length = byte_at(config, at + 2);
      if (length < 3 || at + length > kConfigSize) return {.is_broken = true};
      return {.capability = config.substr(at, length)};
    }
    at = byte_at(config, at + 1);
  }
  return {};
}

VgpuHost host_of(std::string_view capability) {
  std::size_t at = kFirstRecord;
  while (at + kRecordHeader <= capability.size()) {
    if (byte_at(capability, at) == kHostDriverRecord) {
      if (at + kRecordHeader + 2 * kTextSize > capability.size()) return {};
      return {text_at(capability, at + kRecordHeader),
              text_at(capability, at + kRecordHeader + kTextSize)};
    }
    const std::size_t length = byte_at(capability, at + 1);
    if (length < kRecordHeader) return {};
    at += length;
  }
  return {};
}

}  // namespace

std::optional<VgpuCapability> parse_vgpu_capability(std::string_view config) {
  if (config.size() < kConfigSize) return std::nullopt;
  if (byte_at(config, 0) != 0xde || byte_at(config, 1) != 0x10) return std::nullopt;
  if ((byte_at(config, kStatus) & kHasCapabilities) == 0) return VgpuCapability{};
  const Found found = vendor_capability(config);
  if (found.is_broken) return std::nullopt;
  if (found.capability.size() < kFirstRecord || found.capability.substr(3, 2) != "VF") {
    return VgpuCapability{};
  }
  return VgpuCapability{.is_vgpu = true, .host = host_of(found.capability)};
}

}  // namespace tranche::formats
