// SPDX-License-Identifier: Apache-2.0
#include "os/settings/memory_size.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "os/settings/values.h"

namespace tranche::os {
namespace {

constexpr std::uint64_t kMiB = 1ULL << 20U;
constexpr std::uint64_t kGiB = 1ULL << 30U;
// A number of TiB with more digits would overflow when scaled; a whole number of MiB never needs
// them.
constexpr std::size_t kMostDigits = 9;

struct Suffix {
  std::string_view text;
  std::uint64_t bytes;
};
constexpr std::array kSuffixes = {Suffix{"MiB", kMiB},        Suffix{"Mi", kMiB},
                                  Suffix{"GiB", kGiB},        Suffix{"Gi", kGiB},
                                  Suffix{"TiB", kGiB * 1024}, Suffix{"Ti", kGiB * 1024}};

Error refused(const std::string& why) { return {ErrorCode::kInvalidArgument, why}; }

Error not_a_size(std::string_view text, const std::string& advice) {
  return refused(fmt::format("expected a size with its unit, such as 4GiB or 512MiB, found '{}'{}",
                             brief(text), advice));
}

// The likely intention of an unknown suffix.
std::string advice_for(std::string_view number, std::string_view suffix) {
  if (suffix.empty()) return " (give the unit: MiB or GiB)";
  const std::string first = lower(suffix.substr(0, 1));
  const std::string rest = lower(suffix.substr(1));
  const bool known = first == "m" || first == "g" || first == "t";
  if (!known || (!rest.empty() && rest != "b" && rest != "i" && rest != "ib")) return "";
  const std::string meant = std::string(number) + (first == "m"   ? "MiB"
                                                   : first == "g" ? "GiB"
                                                                  : "TiB");
  if (rest.starts_with('i')) return fmt::format("; did you mean {}?", meant);
  return fmt::format(" (units are powers of 1024 here; did you mean {}?)", meant);
}

// "1.5" of a unit, in bytes; empty if it is not a number, not a whole number of bytes, or far too
// large.
std::optional<std::uint64_t> scaled(std::string_view number, std::uint64_t unit) {
  const std::size_t dot = number.find('.');
  const std::string_view whole = number.substr(0, dot);
  const std::string_view part = dot == number.npos ? "0" : number.substr(dot + 1);
  if (whole.size() > kMostDigits || part.size() > kMostDigits) return std::nullopt;
  const auto units = parse_number<std::uint64_t>(whole);
  const auto fraction = parse_number<std::uint64_t>(part);
  if (!units || !fraction || *units > kMostMemory / unit) return std::nullopt;
  std::uint64_t denominator = 1;
  for (std::size_t i = 0; i < part.size(); ++i) denominator *= 10;
  // Divides before it multiplies where possible, to avoid overflow.
  const std::uint64_t mebibytes = unit / kMiB;
  if (*fraction * mebibytes % denominator != 0) return std::nullopt;
  return *units * unit + *fraction * mebibytes / denominator * kMiB;
}

bool is_number(std::string_view text) {
  const std::string_view digits = "0123456789";
  return !text.empty() && digits.find(text.front()) != digits.npos &&
         digits.find(text.back()) != digits.npos && std::ranges::count(text, '.') <= 1;
}

}  // namespace

Result<std::uint64_t> parse_memory_size(std::string_view text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view number = text.substr(0, end);
  const std::string_view suffix = text.substr(end);
  if (!is_number(number)) return not_a_size(text, "");
  const auto* unit = std::ranges::find(kSuffixes, suffix, &Suffix::text);
  if (unit == kSuffixes.end()) return not_a_size(text, advice_for(number, suffix));
  const auto bytes = scaled(number, unit->bytes);
  if (bytes && *bytes > 0 && *bytes <= kMostMemory) return *bytes;
  return refused(
      fmt::format("must be a whole number of MiB, from 1MiB to 16TiB, found '{}'", brief(text)));
}

Result<std::uint64_t> parse_memory_unit(std::string_view text) {
  const auto* unit = std::ranges::find(kSuffixes, text, &Suffix::text);
  if (unit != kSuffixes.end()) return unit->bytes;
  if (const std::string advice = advice_for("", text); !text.empty() && !advice.empty()) {
    return not_a_size(text, advice);
  }
  return parse_memory_size(text);
}

std::string memory_size_text(std::uint64_t bytes) {
  if (bytes % kGiB == 0) return fmt::format("{}GiB", bytes / kGiB);
  return fmt::format("{}MiB", bytes / kMiB);
}

}  // namespace tranche::os
