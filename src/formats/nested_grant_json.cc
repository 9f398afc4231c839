// SPDX-License-Identifier: Apache-2.0
#include "formats/nested_grant_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <exception>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "formats/json_field.h"

namespace tranche::formats {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
// Far more than a node has.
constexpr std::size_t kMostDevices = 4096;
constexpr std::array kForms = {ShareForm::kWhole, ShareForm::kReplicas, ShareForm::kMemory};

Json device_json(const NestedDevice& device) {
  Json json{{"uuid", device.uuid},
            {"gpu", device.gpu},
            {"index", device.index},
            {"model", device.model},
            {"memoryBytes", device.memory_bytes},
            {"share", to_string(device.form)},
            {"shares", device.shares},
            {"sharesInAll", device.shares_in_all}};
  if (device.minor) json["minor"] = *device.minor;
  if (device.granted_bytes) json["grantedBytes"] = *device.granted_bytes;
  json["healthy"] = device.health.ok();
  json["reasons"] = device.health.troubles;
  return json;
}

template <typename T>
T value_or(const Json& json, const char* key, const T& fallback) {
  return json.contains(key) ? json_field<T>(json, key) : fallback;
}

ShareForm form_from(const std::string& text) {
  for (const ShareForm form : kForms) {
    if (to_string(form) == text) return form;
  }
  throw std::runtime_error(
      fmt::format("share is '{}', which is none of whole, replicas, memory", text));
}

NestedDevice device_from_json(const Json& json) {
  NestedDevice device{.uuid = json_field<std::string>(json, "uuid")};
  if (device.uuid.empty()) throw std::runtime_error("a device has an empty uuid");
  device.gpu = value_or(json, "gpu", device.uuid);
  device.index = value_or(json, "index", std::string());
  device.model = value_or(json, "model", std::string());
  device.memory_bytes = value_or<std::uint64_t>(json, "memoryBytes", 0);
  device.form = form_from(value_or(json, "share", std::string(to_string(ShareForm::kWhole))));
  device.shares = value_or(json, "shares", 1U);
  device.shares_in_all = value_or(json, "sharesInAll", 1U);
  if (json.contains("minor")) device.minor = json_field<unsigned>(json, "minor");
  if (json.contains("grantedBytes")) {
    device.granted_bytes = json_field<std::uint64_t>(json, "grantedBytes");
  }
  device.health.troubles = value_or(json, "reasons", std::vector<std::string>());
  const bool is_healthy = json_field<bool>(json, "healthy");
  if (is_healthy) device.health.troubles.clear();
  if (!is_healthy && device.health.ok()) device.health.troubles.emplace_back("it gives no reason");
  return device;
}

NestedGrant grant_from_json(const Json& json) {
  NestedGrant grant{.id = value_or(json, "id", std::string()),
                    .resource = json_field<std::string>(json, "resource"),
                    .generation = json_field<std::uint64_t>(json, "generation"),
                    .driver_version = value_or(json, "driverVersion", std::string())};
  const Json& devices = json.at("devices");
  if (!devices.is_array()) throw std::runtime_error("devices is not a list");
  if (devices.size() > kMostDevices) throw std::runtime_error("it lists too many devices");
  for (const Json& device : devices) grant.devices.push_back(device_from_json(device));
  return grant;
}

}  // namespace

std::string to_json(const NestedGrant& grant) {
  Json json{{"version", kVersion},
            {"generation", grant.generation},
            {"id", grant.id},
            {"resource", grant.resource},
            {"driverVersion", grant.driver_version},
            {"devices", Json::array()}};
  for (const NestedDevice& device : grant.devices) json["devices"].push_back(device_json(device));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<NestedGrant> parse_nested_grant(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    if (!json.is_object()) throw std::runtime_error("it is not a JSON object");
    const auto version = json_field<std::int64_t>(json, "version");
    if (version != kVersion) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("its version is {}, and this program knows {}: update this program, "
                               "or run the same one on the host",
                               version, kVersion)};
    }
    return grant_from_json(json);
  } catch (const std::exception& problem) {
    return Error{ErrorCode::kInvalidArgument, problem.what()};
  }
}

}  // namespace tranche::formats
