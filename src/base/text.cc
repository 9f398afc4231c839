// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace tranche::base {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

struct Lead {
  std::size_t length;      // of the sequence; 0: not a first byte
  std::uint32_t bits;      // its part of the code point
  std::uint32_t smallest;  // code point that needs this many bytes
};

Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {1, byte, 0};
  if (byte >= 0xC0 && byte < 0xE0) return {2, byte & 0x1FU, 0x80};
  if (byte >= 0xE0 && byte < 0xF0) return {3, byte & 0x0FU, 0x800};
  if (byte >= 0xF0 && byte < 0xF8) return {4, byte & 0x07U, 0x10000};
  return {0, 0, 0};
}

// Length of the character at the front of `text`, 0 when there is no valid one.
std::size_t character_length(std::string_view text) {
  const Lead lead = lead_of(static_cast<unsigned char>(text.front()));
  if (lead.length == 0 || lead.length > text.size()) return 0;
  std::uint32_t code = lead.bits;
  for (const char c : text.substr(1, lead.length - 1)) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0U) != 0x80U) return 0;
    code = (code << 6U) | (byte & 0x3FU);
  }
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code < lead.smallest || code > 0x10FFFF || surrogate ? 0 : lead.length;
}

// Includes U+0080 to U+009F: a terminal may treat them as the start of a sequence.
bool is_control(std::string_view character) {
  const auto byte = static_cast<unsigned char>(character.back());
  if (character.size() == 1) return byte < 0x20 || byte == 0x7F;
  return character.size() == 2 && character.front() == '\xC2' && byte < 0xA0;
}

}  // namespace

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  while (true) {
    const std::size_t end = text.find(separator, start);
    parts.emplace_back(text.substr(start, end - start));
    if (end == std::string_view::npos) return parts;
    start = end + 1;
  }
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string joined;
  for (const std::string& part : parts) {
    if (&part != &parts.front()) joined += separator;
    joined += part;
  }
  return joined;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

bool glob_match(std::string_view pattern, std::string_view text) {
  // Greedy with one backtracking point: on a mismatch the last star takes one character more.
  // Linear in memory, no recursion on hostile patterns.
  std::size_t p = 0, t = 0;
  std::size_t star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

// A shorter prefix is ambiguous.
constexpr std::size_t kLeastPrefix = 3;

std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  // A larger distance is a guess, not a typo.
  std::size_t best = std::max<std::size_t>(2, word.size() / 3) + 1;
  std::optional<std::string> found;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(lower(word), lower(candidate));
    if (distance < best && distance < word.size()) {
      best = distance;
      found = candidate;
    }
  }
  if (found || word.size() < kLeastPrefix) return found;
  // "mem" for "memory", if no other candidate has this prefix.
  for (const std::string& candidate : candidates) {
    if (!lower(candidate).starts_with(lower(word))) continue;
    if (found) return std::nullopt;
    found = candidate;
  }
  return found;
}

std::size_t valid_utf8_prefix(std::string_view text) {
  std::size_t position = 0;
  while (position < text.size()) {
    const std::size_t length = character_length(text.substr(position));
    if (length == 0) break;
    position += length;
  }
  return position;
}

std::size_t plain_prefix(std::string_view text) {
  std::size_t position = 0;
  while (position < text.size()) {
    const std::size_t length = character_length(text.substr(position));
    if (length == 0 || is_control(text.substr(position, length))) break;
    position += length;
  }
  return position;
}

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t plain = plain_prefix(text);
    result += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    result += '?';
    text.remove_prefix(1);
  }
  return result;
}

}  // namespace tranche::base
