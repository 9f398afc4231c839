// SPDX-License-Identifier: Apache-2.0
#include "base/shortened.h"

namespace tranche::base {

std::string shortened(std::string_view text, std::size_t most) {
  constexpr std::string_view kMark = "…";
  if (text.size() <= most) return std::string(text);
  std::size_t end = most > kMark.size() ? most - kMark.size() : 0;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return std::string(text.substr(0, end)) + std::string(kMark);
}

}  // namespace tranche::base
