// SPDX-License-Identifier: Apache-2.0
#include "sharing/share_id.h"

#include "base/text.h"

namespace tranche {
namespace {
constexpr std::string_view kMark = "::";
}

std::string share_id(std::string_view device, std::optional<unsigned> replica) {
  std::string id(device);
  if (replica) {
    id += kMark;
    id += std::to_string(*replica);
  }
  return id;
}

std::optional<ParsedShareId> parse_share_id(std::string_view text) {
  const std::size_t mark = text.find(kMark);
  if (mark == std::string_view::npos) {
    if (text.empty()) return std::nullopt;
    return ParsedShareId{text, std::nullopt};
  }
  const std::string_view number = text.substr(mark + kMark.size());
  const auto replica = parse_number<unsigned>(number);
  const bool has_leading_zero = number.size() > 1 && number.front() == '0';
  if (mark == 0 || !replica || has_leading_zero) return std::nullopt;
  return ParsedShareId{text.substr(0, mark), replica};
}

}  // namespace tranche
