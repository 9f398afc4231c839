// SPDX-License-Identifier: Apache-2.0
//
// The words that people write for the values of an enumeration: one array for each, from
// which parsers, printers and messages are made.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tranche::base {

template <typename T>
struct Word {
  std::string_view text;
  T meaning;
};

template <typename T, std::size_t N>
constexpr std::optional<T> meaning_of(const Word<T> (&words)[N], std::string_view text) {
  for (const Word<T>& word : words) {
    if (word.text == text) return word.meaning;
  }
  return std::nullopt;
}

template <typename T, std::size_t N>
constexpr std::string_view text_of(const Word<T> (&words)[N], const T& meaning) {
  for (const Word<T>& word : words) {
    if (word.meaning == meaning) return word.text;
  }
  return "?";
}

// For tables of constants: a function that gives the texts of one array.
using Texts = std::vector<std::string> (*)();
template <const auto& kWords>
std::vector<std::string> texts() {
  std::vector<std::string> all;
  for (const auto& word : kWords) all.emplace_back(word.text);
  return all;
}

}  // namespace tranche::base
