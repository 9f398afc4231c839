// SPDX-License-Identifier: Apache-2.0
#include "formats/release_json.h"

#include <exception>
#include <utility>

#include <nlohmann/json.hpp>

#include "formats/gpu_json.h"
#include "formats/json_field.h"

namespace tranche::formats {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;

ReleaseMemory from_json(const Json& json) {
  ReleaseMemory release{.boot_id = json_field<std::string>(json, "bootId"),
                        .since = json_field<std::int64_t>(json, "since"),
                        .all = json_field<bool>(json, "all")};
  for (const Json& gpu : json.at("released")) {
    release.gpus.insert(GpuUuid(json_value<std::string>(gpu, "a released GPU")));
  }
  const Json& driver = json.at("driver");
  Inventory& inventory = release.inventory;
  inventory.driver =
      meaning_of(kDriverKinds, json_field<std::string>(driver, "kind")).value_or(DriverKind::kNone);
  inventory.driver_trouble = json_field<std::string>(driver, "trouble");
  inventory.driver_version = json_field<std::string>(driver, "version");
  inventory.cuda_version = json_field<std::string>(driver, "cuda");
  inventory.limits_memory = json_field<bool>(driver, "limitsMemory");
  for (const Json& entry : json.at("gpus")) {
    Gpu gpu = gpu_from_json(entry.at("gpu"));
    if (entry.contains("driverIndex")) {
      gpu.driver_index = json_field<unsigned>(entry, "driverIndex");
    }
    inventory.gpus.push_back(std::move(gpu));
  }
  return release;
}

}  // namespace

std::string to_json(const ReleaseMemory& release) {
  Json json{{"version", kVersion},
            {"bootId", release.boot_id},
            {"since", release.since},
            {"all", release.all},
            {"released", Json::array()},
            {"driver",
             {{"kind", to_string(release.inventory.driver)},
              {"trouble", release.inventory.driver_trouble},
              {"version", release.inventory.driver_version},
              {"cuda", release.inventory.cuda_version},
              {"limitsMemory", release.inventory.limits_memory}}},
            {"gpus", Json::array()}};
  for (const GpuUuid& gpu : release.gpus) json["released"].push_back(gpu.text);
  for (const Gpu& gpu : release.inventory.gpus) {
    Json entry{{"gpu", gpu_to_json(gpu)}};
    if (gpu.driver_index) entry["driverIndex"] = *gpu.driver_index;
    json["gpus"].push_back(std::move(entry));
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<ReleaseMemory> parse_release_memory(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    if (json_field<int>(json, "version") != kVersion) {
      return Error{ErrorCode::kInvalidArgument, "it is of another version"};
    }
    return from_json(json);
  } catch (const std::exception& problem) {
    return Error{ErrorCode::kInvalidArgument, problem.what()};
  }
}

}  // namespace tranche::formats
