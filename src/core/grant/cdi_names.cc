// SPDX-License-Identifier: Apache-2.0
#include "core/grant/cdi_names.h"

#include <fmt/core.h>

#include <algorithm>

namespace tranche::core {
namespace {

// Not std::isalnum: a locale must not change names.
bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_legal_inside(char c) {
  return is_alphanumeric(c) || c == '_' || c == '-' || c == '.' || c == ':';
}

}  // namespace

std::vector<std::string_view> cdi_classes() {
  return {kCdiGdrcopy, kCdiGds, kCdiGpu, kCdiImexChannel, kCdiMofed};
}

std::string cdi_device_name(std::string_view id) {
  // The first and the last character must be a letter or a digit.
  while (!id.empty() && !is_alphanumeric(id.front())) id.remove_prefix(1);
  while (!id.empty() && !is_alphanumeric(id.back())) id.remove_suffix(1);
  std::string name(id);
  std::ranges::replace_if(name, [](char c) { return !is_legal_inside(c); }, '_');
  return name;
}

std::string cdi_device_name(const Gpu& gpu, DeviceIdStrategy ids) {
  if (ids == DeviceIdStrategy::kIndex) {
    const auto index = gpu.runtime_index();
    return index ? std::to_string(*index) : "";
  }
  return cdi_device_name(gpu.uuid.text);
}

std::string cdi_device_name(const Gpu& gpu, const MigDevice& mig, DeviceIdStrategy ids) {
  if (ids == DeviceIdStrategy::kIndex) {
    const std::string index = cdi_device_name(gpu, ids);
    return index.empty() ? "" : fmt::format("{}:{}", index, mig.index);
  }
  return cdi_device_name(mig.uuid.text);
}

std::string cdi_qualified_name(std::string_view device_class, std::string_view name) {
  return fmt::format("{}/{}={}", kCdiVendor, device_class, name);
}

std::string cdi_file_name(std::string_view device_class) {
  return fmt::format("{}-{}.json", kCdiVendor, device_class);
}

std::vector<std::string> known_cdi_hooks() {
  return {"all",
          "apply-cuda-memory-limits",
          "chmod",
          "create-symlinks",
          "disable-device-node-modification",
          "enable-cuda-compat",
          "update-application-profile",
          "update-ldcache"};
}

std::vector<std::string> known_cdi_feature_flags() {
  return {"disable-ipc-discoverer",
          "disable-multiple-csv-devices",
          "disable-nvsandbox-utils",
          "disable-nvsandboxutils",
          "enable-coherent-annotations",
          "enable-explicit-driver-libraries",
          "no-additional-gids-for-device-nodes"};
}

}  // namespace tranche::core
