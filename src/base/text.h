// SPDX-License-Identifier: Apache-2.0
//
// Small text functions that the standard library lacks. Pure.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tranche::base {

std::vector<std::string> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::string_view trim(std::string_view text);
std::string lower(std::string_view text);

// Whether `pattern` matches the whole of `text`. `*` matches any run of characters; everything
// else matches itself.
bool glob_match(std::string_view pattern, std::string_view text);

// The candidate that `word` was most likely meant to be, for "did you mean";
// empty when none is near.
std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates);

// Length of the longest prefix that is valid UTF-8 (no overlong forms, no surrogates).
std::size_t valid_utf8_prefix(std::string_view text);
// The same, without control characters, which a terminal would interpret.
std::size_t plain_prefix(std::string_view text);
// `text` with a ? for each byte that is not plain text.
std::string printable(std::string_view text);

// The whole of `text` as a number; empty if it is not a number or too large.
template <typename Number>
std::optional<Number> parse_number(std::string_view text, int base = 10) {
  Number value{};
  const char* begin = text.data();
  const char* end = begin + text.size();
  const auto [stop, error] = std::from_chars(begin, end, value, base);
  if (error != std::errc{} || stop != end || text.empty()) return std::nullopt;
  return value;
}

}  // namespace tranche::base
