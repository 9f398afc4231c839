// SPDX-License-Identifier: Apache-2.0
//
// A property of every configuration, however odd: loading it does not crash, and its Settings can
// be printed in both formats and loaded again to the same Settings. The tests try chosen inputs,
// the fuzzer any.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "programs/settings/load.h"

namespace tranche::programs::testing {

// One input in the corpus's format. The byte 0x1E, which no file can have, separates the parts: the
// last is the file, an earlier one that starts with $ is a variable (`$NAME=value`), any other an
// argument.
struct RoundTripInput {
  Sources sources;
  ConfigText file;
};

inline RoundTripInput split_input(std::string_view input) {
  std::vector<std::string> parts = split(input, '\x1E');
  RoundTripInput result{.file = {"fuzz.yaml", parts.back()}};
  parts.pop_back();
  for (const std::string& part : parts) {
    const std::size_t equals = part.find('=');
    if (part.starts_with('$') && equals != std::string::npos) {
      result.sources.environment[part.substr(1, equals - 1)] = part.substr(equals + 1);
    } else {
      result.sources.arguments.push_back(part);
    }
  }
  return result;
}

// What broke the property; empty: it holds.
inline std::optional<std::string> round_trip_problem(const RoundTripInput& input) {
  const Result<Loaded> loaded = load_settings(input.sources, input.file);
  if (!loaded && loaded.error().message.empty()) return "an error without a message";
  if (!loaded || loaded->wants_help || loaded->wants_version) return std::nullopt;

  const std::string yaml = effective_yaml(*loaded);
  const std::string json =
      nlohmann::json::parse(effective_json(*loaded)).at("configuration").dump(1, '\t');
  for (const std::string& printed : {yaml, json}) {
    const Result<Loaded> again = load_settings(input.sources, ConfigText{"again.yaml", printed});
    if (!again) return "does not load again: " + again.error().message + "\n" + printed;
    if (again->settings != loaded->settings) return "loads again as something else:\n" + printed;
  }
  return std::nullopt;
}

}  // namespace tranche::programs::testing
