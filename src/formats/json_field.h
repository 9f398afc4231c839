// SPDX-License-Identifier: Apache-2.0
//
// Fields of an untrusted JSON object. The library's own get<T>() converts any number to any
// other: it truncates 4294967297 to 1, and 1e30 is undefined behaviour. These throw instead, with
// a message.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace tranche::formats {

// `name` is for the message.
template <typename T, typename Json>
T json_value(const Json& value, const char* name) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    const bool fits =
        value.is_number_unsigned()
            ? std::in_range<T>(value.template get<std::uint64_t>())
            : value.is_number_integer() && std::in_range<T>(value.template get<std::int64_t>());
    if (!fits) {
      throw std::runtime_error(fmt::format(
          "{} is {}, and not a whole number from {} to {}", name, value.dump().substr(0, 40),
          std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    }
  }
  return value.template get<T>();
}

template <typename T, typename Json>
T json_field(const Json& json, const char* key) {
  return json_value<T>(json.at(key), key);
}

}  // namespace tranche::formats
