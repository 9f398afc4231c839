// SPDX-License-Identifier: Apache-2.0
//
// The member of the program's settings, at any depth, that an option sets. The option's type
// follows from the member's.
#pragma once

#include <chrono>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/words.h"

namespace tranche::os {

enum class ValueType {
  kBool,
  kNumber,
  kDuration,
  kText,
  kChoice,      // one of `allowed`
  kPath,        // absolute, or empty
  kTextList,    // each one of `allowed`, where that is given
  kNumberList,  // whole numbers
};

// The option's type decides which one. Both kinds of list hold texts; those of a number list are
// numerals.
using Value =
    std::variant<bool, unsigned, std::chrono::milliseconds, std::string, std::vector<std::string>>;

struct Field {
  // `settings` is the struct at which the path of members begins. All fields of a table have the
  // same struct, which fill() gets.
  void (*set)(void* settings, const Value& value) = nullptr;
  ValueType type = ValueType::kText;
  Texts words = nullptr;  // of an enumeration
  // Of a text that the program parses: whether it can.
  Status (*check)(const std::string& text) = nullptr;
};

// The member of `object` at the end of a path of members.
template <typename Object, typename Member, typename... Rest>
constexpr auto& member_at(Object& object, Member member, Rest... rest) {
  if constexpr (sizeof...(rest) == 0) {
    return object.*member;
  } else {
    return member_at(object.*member, rest...);
  }
}

// The struct at the start of the path, and the type of the member at its end.
template <typename Struct, typename Member, typename... Rest>
Struct root_of(Member Struct::*, Rest...);
template <auto... kPath>
using RootOf = decltype(root_of(kPath...));
template <auto... kPath>
using MemberOf =
    std::remove_cvref_t<decltype(member_at(std::declval<RootOf<kPath...>&>(), kPath...))>;

template <typename T>
constexpr ValueType value_type_of() {
  if (std::is_same_v<T, bool>) return ValueType::kBool;
  if (std::is_same_v<T, unsigned>) return ValueType::kNumber;
  if (std::is_same_v<T, std::chrono::milliseconds>) return ValueType::kDuration;
  if (std::is_same_v<T, std::vector<std::string>>) return ValueType::kTextList;
  return ValueType::kText;
}

template <auto... kPath>
void set_member(void* settings, const Value& value) {
  const auto* held = std::get_if<MemberOf<kPath...>>(&value);
  if (held != nullptr) member_at(*static_cast<RootOf<kPath...>*>(settings), kPath...) = *held;
}

template <const auto& kWords, auto... kPath>
void set_word(void* settings, const Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  const auto meaning = meaning_of(kWords, text == nullptr ? "" : *text);
  if (meaning) member_at(*static_cast<RootOf<kPath...>*>(settings), kPath...) = *meaning;
}

template <auto kParse, auto... kPath>
void set_parsed(void* settings, const Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  auto parsed = kParse(text == nullptr ? "" : *text);
  if (parsed) member_at(*static_cast<RootOf<kPath...>*>(settings), kPath...) = *std::move(parsed);
}

template <auto kParse>
Status check_parsed(const std::string& text) {
  const auto parsed = kParse(text);
  if (!parsed) return parsed.error();
  return Done{};
}

// field<&Settings::nested, &NestedOptions::guest>
// Reads like a function in tables. NOLINTBEGIN(readability-identifier-naming)
template <auto... kPath>
inline constexpr Field field = {.set = set_member<kPath...>,
                                .type = value_type_of<MemberOf<kPath...>>()};
// NOLINTEND(readability-identifier-naming)

// The words of an enumeration, without a member.
// Reads like a function in tables. NOLINTBEGIN(readability-identifier-naming)
template <const auto& kWords>
inline constexpr Field choice = {.type = ValueType::kChoice, .words = texts<kWords>};
// NOLINTEND(readability-identifier-naming)

// word_field<kExposures, &Settings::nested, &NestedOptions::exposure>
// Reads like a function in tables. NOLINTBEGIN(readability-identifier-naming)
template <const auto& kWords, auto... kPath>
inline constexpr Field word_field = {
    .set = set_word<kWords, kPath...>, .type = ValueType::kChoice, .words = texts<kWords>};
// NOLINTEND(readability-identifier-naming)

// parsed_field<parse_limits, &Flags::admit>: `kParse(text)` gives a Result of what the member
// takes. Without a value and a default the member stays as it is.
// Reads like a function in tables. NOLINTBEGIN(readability-identifier-naming)
template <auto kParse, auto... kPath>
inline constexpr Field parsed_field = {.set = set_parsed<kParse, kPath...>,
                                       .check = check_parsed<kParse>};
// NOLINTEND(readability-identifier-naming)

}  // namespace tranche::os
