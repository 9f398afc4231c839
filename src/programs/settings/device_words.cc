// SPDX-License-Identifier: Apache-2.0
#include "programs/settings/device_words.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <variant>
#include <vector>

#include "base/text.h"
#include "os/settings/values.h"

namespace tranche::programs {
namespace {

bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// 8-4-4-4-12 hexadecimal digits.
bool is_uuid(std::string_view text) {
  constexpr std::size_t kLengths[] = {8, 4, 4, 4, 12};
  const std::vector<std::string> parts = split(text, '-');
  return std::ranges::equal(parts, kLengths, [](const std::string& part, std::size_t length) {
    return part.size() == length && is_hex(part);
  });
}

bool is_numeral(std::string_view text) { return parse_number<unsigned>(text).has_value(); }

std::optional<AnyUuid> read_gpu_uuid(std::string_view text) {
  if (!text.starts_with("GPU-")) return std::nullopt;
  const std::string uuid = lower(text.substr(4));
  if (!is_uuid(uuid)) return std::nullopt;
  return AnyUuid{"GPU-" + uuid};
}

std::optional<AnyUuid> read_mig_uuid(std::string_view text) {
  if (!text.starts_with("MIG-")) return std::nullopt;
  const std::string_view rest = text.substr(4);
  if (const std::string uuid = lower(rest); is_uuid(uuid)) return AnyUuid{"MIG-" + uuid};
  const std::vector<std::string> parts = split(rest, '/');
  if (parts.size() != 3 || !is_numeral(parts[1]) || !is_numeral(parts[2])) return std::nullopt;
  const auto gpu = read_gpu_uuid(parts[0]);
  if (!gpu) return std::nullopt;
  return AnyUuid{fmt::format("MIG-{}/{}/{}", gpu->text, parts[1], parts[2])};
}

std::optional<MigIndex> read_mig_index(std::string_view text) {
  const std::vector<std::string> parts = split(text, ':');
  if (parts.size() != 2) return std::nullopt;
  const auto gpu = parse_number<unsigned>(parts[0]);
  const auto mig = parse_number<unsigned>(parts[1]);
  if (!gpu || !mig) return std::nullopt;
  return MigIndex{*gpu, *mig};
}

// Bus and device have two digits in every usual form. "0:1" is not an address but MIG device 1 of
// GPU 0.
std::optional<PciAddress> read_pci(std::string_view text) {
  const std::vector<std::string> parts = split(text.substr(0, text.find('.')), ':');
  if (parts.size() < 2 || parts.back().size() != 2 || parts[parts.size() - 2].size() != 2) {
    return std::nullopt;
  }
  return parse_pci_address(text);
}

struct Texts {
  std::string operator()(const GpuIndex& device) const { return std::to_string(device.index); }
  std::string operator()(const MigIndex& device) const {
    return fmt::format("{}:{}", device.gpu, device.mig);
  }
  std::string operator()(const AnyUuid& device) const { return device.text; }
  std::string operator()(const PciAddress& address) const { return to_string(address); }
  std::string operator()(const ModelPattern& model) const { return model.pattern; }
};

Error refused(const std::string& why) { return {ErrorCode::kInvalidArgument, why}; }

}  // namespace

Result<DeviceRef> parse_device_ref(std::string_view text) {
  if (const auto index = parse_number<unsigned>(text)) return DeviceRef(GpuIndex{*index});
  if (const auto index = read_mig_index(text)) return DeviceRef(*index);
  if (const auto uuid = read_gpu_uuid(text)) return DeviceRef(*uuid);
  if (const auto uuid = read_mig_uuid(text)) return DeviceRef(*uuid);
  return refused(
      fmt::format("unsupported type for device in devices list: '{}' (expected an index such as 0, "
                  "a MIG index such as \"0:1\", GPU-<uuid> or MIG-<uuid>)",
                  brief(text)));
}

std::string to_text(const DeviceRef& device) { return std::visit(Texts{}, device); }

Result<Exclusion> parse_exclusion(std::string_view text) {
  if (const auto index = parse_number<unsigned>(text)) return Exclusion(GpuIndex{*index});
  if (const auto uuid = read_gpu_uuid(text)) return Exclusion(*uuid);
  if (const auto address = read_pci(text)) return Exclusion(*address);
  if (text.find('*') != std::string_view::npos) return Exclusion(ModelPattern{std::string(text)});
  if (read_mig_uuid(text) || read_mig_index(text)) {
    return refused(fmt::format("'{}' is a MIG device; only whole GPUs can be excluded", text));
  }
  return refused(
      fmt::format("'{}' is no index (0), GPU uuid (GPU-8f1c...), PCI address (0000:07:00.0) or "
                  "model pattern; a pattern has at least one * in it (*T4*)",
                  brief(text)));
}

std::string to_text(const Exclusion& exclusion) { return std::visit(Texts{}, exclusion); }

}  // namespace tranche::programs
