// SPDX-License-Identifier: Apache-2.0
//
// The words of an enumeration's values in configuration: one array each, which parsers, printers
// and messages use.
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

// A function that returns the words of one array, for constant tables.
using Texts = std::vector<std::string> (*)();
template <const auto& kWords>
std::vector<std::string> texts() {
  std::vector<std::string> all;
  for (const auto& word : kWords) all.emplace_back(word.text);
  return all;
}

}  // namespace tranche::base
