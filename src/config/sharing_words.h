// SPDX-License-Identifier: Apache-2.0
//
// The words of the configuration for what the sharing policy has as enums, from
// text and back. Constant data and pure functions: any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mps/options.h"
#include "sharing/terms.h"

namespace tranche {

template <typename T>
struct Word {
  std::string_view text;
  T meaning;
};

std::span<const Word<ShareForm>> share_words();
std::span<const Word<SharePlacement>> placement_words();
std::span<const Word<ShownSize>> offer_words();
std::span<const Word<Dialect>> dialect_words();
std::span<const Word<Exposure>> exposure_words();
// Empty: auto.
std::span<const Word<std::optional<Rung>>> enforcement_words();
std::span<const Word<MpsDaemons>> mps_daemons_words();

template <typename T>
std::optional<T> meaning_of(std::span<const Word<T>> words, std::string_view text) {
  for (const Word<T>& word : words) {
    if (word.text == text) return word.meaning;
  }
  return std::nullopt;
}

// Every meaning has its word.
template <typename T>
std::string text_of(std::span<const Word<T>> words, const T& meaning) {
  for (const Word<T>& word : words) {
    if (word.meaning == meaning) return std::string(word.text);
  }
  return "";
}

template <typename T>
std::vector<std::string> texts_of(std::span<const Word<T>> words) {
  std::vector<std::string> texts;
  for (const Word<T>& word : words) texts.emplace_back(word.text);
  return texts;
}

}  // namespace tranche
