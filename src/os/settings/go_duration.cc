// SPDX-License-Identifier: Apache-2.0
#include "os/settings/go_duration.h"

#include <fmt/core.h>

#include <array>
#include <cstdint>
#include <limits>

#include "base/text.h"

namespace tranche::os {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t nanoseconds;
};
// Longer names first: "ms" must not be read as "m".
constexpr std::array kUnits = {
    Unit{"ns", 1},
    Unit{"us", 1'000},
    Unit{"\u00B5s", 1'000},  // the micro sign
    Unit{"\u03BCs", 1'000},  // the Greek letter
    Unit{"ms", 1'000'000},
    Unit{"s", 1'000'000'000},
    Unit{"m", 60'000'000'000},
    Unit{"h", 3'600'000'000'000},
};

std::string_view take_digits(std::string_view& text) {
  const std::size_t end = text.find_first_not_of("0123456789");
  const std::string_view digits = text.substr(0, end);
  text.remove_prefix(digits.size());
  return digits;
}

const Unit* take_unit(std::string_view& text) {
  for (const Unit& unit : kUnits) {
    if (!text.starts_with(unit.name)) continue;
    text.remove_prefix(unit.name.size());
    return &unit;
  }
  return nullptr;
}

// 0.`digits` of a unit. Digits below a nanosecond are dropped, as Go does.
std::uint64_t fraction_of(std::uint64_t unit, std::string_view digits) {
  std::uint64_t sum = 0;
  std::uint64_t place = unit;
  for (const char digit : digits) {
    place /= 10;
    sum += place * static_cast<std::uint64_t>(digit - '0');
  }
  return sum;
}

// Takes one term, such as "1.5h", from the front of `text`.
std::optional<std::uint64_t> take_term(std::string_view& text) {
  const std::string_view whole = take_digits(text);
  std::string_view fraction;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    fraction = take_digits(text);
  }
  if (whole.empty() && fraction.empty()) return std::nullopt;
  const Unit* unit = take_unit(text);
  if (unit == nullptr) return std::nullopt;
  const auto count = whole.empty() ? 0 : parse_number<std::uint64_t>(whole);
  std::uint64_t sum = 0;
  if (!count || __builtin_mul_overflow(*count, unit->nanoseconds, &sum) ||
      __builtin_add_overflow(sum, fraction_of(unit->nanoseconds, fraction), &sum)) {
    return std::nullopt;
  }
  return sum;
}

}  // namespace

std::optional<std::chrono::nanoseconds> parse_go_duration(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text == "0") return std::chrono::nanoseconds(0);
  if (text.empty()) return std::nullopt;
  std::uint64_t sum = 0;
  while (!text.empty()) {
    const auto term = take_term(text);
    if (!term || __builtin_add_overflow(sum, *term, &sum)) return std::nullopt;
  }
  if (sum > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return std::nullopt;
  }
  const auto count = static_cast<std::int64_t>(sum);
  return std::chrono::nanoseconds(negative ? -count : count);
}

std::string go_duration(std::chrono::milliseconds duration) {
  const auto count = duration.count();
  if (count % 1000 == 0) return fmt::format("{}s", count / 1000);
  return fmt::format("{}ms", count);
}

}  // namespace tranche::os
