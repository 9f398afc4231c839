// SPDX-License-Identifier: Apache-2.0
#include "config/utf8.h"

#include <cstdint>

namespace tranche {
namespace {

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

}  // namespace

std::size_t valid_utf8_prefix(std::string_view text) {
  std::size_t position = 0;
  while (position < text.size()) {
    const std::size_t length = character_length(text.substr(position));
    if (length == 0) break;
    position += length;
  }
  return position;
}

}  // namespace tranche
