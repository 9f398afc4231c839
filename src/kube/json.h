// SPDX-License-Identifier: Apache-2.0
//
// Reads members of objects that somebody else wrote: what is missing or of another type is
// empty, never an exception.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace tranche::kube {

using Json = nlohmann::json;

// Discarded: this is no JSON, or is nested so deeply that copying it would take more stack than
// there is. Objects of Kubernetes have a dozen levels.
Json parse_json(std::string_view text);

// Null: the value is no object, or has no such member.
inline const Json* member(const Json& json, const char* key) {
  if (!json.is_object()) return nullptr;
  const auto found = json.find(key);
  return found == json.end() ? nullptr : &*found;
}

inline std::string text_at(const Json& json, const char* key) {
  const Json* value = member(json, key);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

// 0 also for what is negative or larger than `most`.
inline std::uint64_t number_at(const Json& json, const char* key, std::uint64_t most) {
  const Json* value = member(json, key);
  if (value == nullptr || !value->is_number_unsigned()) return 0;
  const auto number = value->get<std::uint64_t>();
  return number <= most ? number : 0;
}

}  // namespace tranche::kube
