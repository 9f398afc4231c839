// SPDX-License-Identifier: Apache-2.0
#include "core/features/node_labels.h"

#include <algorithm>
#include <cstddef>

namespace tranche::core {
namespace {

constexpr std::size_t kMostCharacters = 63;

// Not by locale.
bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_allowed(char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; }

std::string_view without_edges(std::string_view text) {
  while (!text.empty() && !is_alphanumeric(text.front())) text.remove_prefix(1);
  while (!text.empty() && !is_alphanumeric(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

bool is_label_value(std::string_view text) {
  return text.size() <= kMostCharacters && std::ranges::all_of(text, is_allowed) &&
         without_edges(text).size() == text.size();
}

std::string label_text(std::string_view text) {
  std::string result;
  bool is_in_gap = false;
  for (const char c : text) {
    if (is_allowed(c)) {
      if (is_in_gap && !result.empty()) result += '-';
      is_in_gap = false;
      result += c;
    } else {
      is_in_gap = is_in_gap || c == ' ';
    }
  }
  return result;
}

std::string label_value(std::string_view name, std::string_view suffix) {
  const std::string clean = label_text(name);
  const std::size_t room = kMostCharacters - std::min(kMostCharacters, suffix.size());
  const std::string_view cut = without_edges(std::string_view(clean).substr(0, room));
  return cut.empty() ? std::string() : std::string(cut).append(suffix);
}

}  // namespace tranche::core
