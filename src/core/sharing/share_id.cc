// SPDX-License-Identifier: Apache-2.0
#include "core/sharing/share_id.h"

#include <algorithm>
#include <cstdint>

#include "base/text.h"

namespace tranche::core {
namespace {

constexpr std::string_view kMark = "::";
constexpr std::string_view kForeignMark = "-_-";
constexpr std::size_t kTagLength = 4;
constexpr std::string_view kTagLetters = "abcdefghijklmnopqrstuvwxyz234567";
constexpr std::size_t kFirstLetters = 26;  // a tag never looks like a number

bool is_tag(std::string_view text) {
  return text.size() == kTagLength && text.front() >= 'a' && text.front() <= 'z' &&
         std::ranges::all_of(text,
                             [](char c) { return kTagLetters.find(c) != std::string_view::npos; });
}

std::optional<unsigned> parse_replica(std::string_view text) {
  const bool has_leading_zero = text.size() > 1 && text.front() == '0';
  return has_leading_zero ? std::nullopt : parse_number<unsigned>(text);
}

}  // namespace

std::string share_id(std::string_view device, std::string_view tag,
                     std::optional<unsigned> replica) {
  std::string id(device);
  if (!tag.empty() || replica) id += kMark;
  id += tag;
  if (!tag.empty() && replica) id += '-';
  if (replica) id += std::to_string(*replica);
  return id;
}

std::optional<ParsedShareId> parse_share_id(std::string_view text) {
  const std::size_t mark = text.find(kMark);
  if (text.empty() || mark == 0) return std::nullopt;
  if (mark == std::string_view::npos) return ParsedShareId{.device = text};
  const std::string_view device = text.substr(0, mark);
  const std::string_view rest = text.substr(mark + kMark.size());
  if (const auto replica = parse_replica(rest)) {
    return ParsedShareId{.device = device, .replica = replica};
  }
  const std::string_view tag = rest.substr(0, kTagLength);
  if (!is_tag(tag)) return std::nullopt;
  if (rest.size() == kTagLength) return ParsedShareId{.device = device, .tag = tag};
  if (rest[kTagLength] != '-') return std::nullopt;
  const auto replica = parse_replica(rest.substr(kTagLength + 1));
  if (!replica) return std::nullopt;
  return ParsedShareId{.device = device, .tag = tag, .replica = replica};
}

std::optional<ParsedShareId> parse_any_share_id(std::string_view text) {
  const std::size_t mark = text.rfind(kForeignMark);
  if (mark == std::string_view::npos || mark == 0) return parse_share_id(text);
  const auto replica = parse_number<unsigned>(text.substr(mark + kForeignMark.size()));
  if (!replica) return parse_share_id(text);
  return ParsedShareId{.device = text.substr(0, mark), .replica = replica};
}

std::string share_tag(const ResourceName& resource) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a
  for (const char c : resource.text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  }
  std::string tag(1, kTagLetters[hash % kFirstLetters]);
  hash /= kFirstLetters;
  for (; tag.size() < kTagLength; hash /= kTagLetters.size()) {
    tag += kTagLetters[hash % kTagLetters.size()];
  }
  return tag;
}

}  // namespace tranche::core
