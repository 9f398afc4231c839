// SPDX-License-Identifier: Apache-2.0
#include "formats/config_choice_json.h"

#include <fmt/core.h>

#include <exception>

#include <nlohmann/json.hpp>

#include "formats/json_field.h"

namespace tranche::formats {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;

Error refused(const std::string& why) { return {ErrorCode::kInvalidArgument, why}; }

}  // namespace

std::string to_json(const ConfigChoice& choice) {
  const Json json{
      {"version", kVersion}, {"name", choice.name}, {"chosenBy", text_of(kChosenBy, choice.by)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<ConfigChoice> parse_config_choice(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    const int version = json_field<int>(json, "version");
    if (version != kVersion) {
      return refused(
          fmt::format("it has version {}, and this program reads version {}", version, kVersion));
    }
    const auto name = json_field<std::string>(json, "name");
    const auto by = meaning_of(kChosenBy, json_field<std::string>(json, "chosenBy"));
    if (!by) return refused("chosenBy is not known");
    const bool has_file = *by != ChosenBy::kEmpty;
    if (has_file ? !is_config_name(name) : !name.empty()) {
      return refused("its name is not that of a configuration");
    }
    return ConfigChoice{name, *by};
  } catch (const std::exception& problem) {
    return refused(problem.what());
  }
}

}  // namespace tranche::formats
