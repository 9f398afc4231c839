// SPDX-License-Identifier: Apache-2.0
#include "formats/ld_cache.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <set>

namespace tranche::formats {
namespace {

// Two formats: caches up to glibc 2.31 begin with the old one, which is
// skipped, and hold the new one behind it; later ones hold the new one alone.
constexpr std::string_view kOldMagic = "ld.so-1.7.0";
constexpr std::size_t kOldHeader = 16, kOldEntry = 12, kOldCountAt = 12;
constexpr std::string_view kNewMagic = "glibc-ld.so.cache1.1";
constexpr std::size_t kNewHeader = 48, kNewEntry = 24, kNewCountAt = 20;

constexpr std::uint32_t kTypeMask = 0x00ff, kTypeElf = 0x0001, kTypeElfLibc6 = 0x0003;
constexpr std::uint32_t kArchMask = 0xff00;

bool is_64_bit(std::uint32_t flags) {
  constexpr std::uint32_t kX86 = 0x0300, kPower = 0x0500, kArm = 0x0a00;
  const std::uint32_t type = flags & kTypeMask;
  const std::uint32_t arch = flags & kArchMask;
  return (type == kTypeElf || type == kTypeElfLibc6) &&
         (arch == kX86 || arch == kPower || arch == kArm);
}

// The cache is written in the byte order of the machine it is for.
std::optional<std::uint32_t> number_at(std::string_view bytes, std::size_t at) {
  std::uint32_t number = 0;
  if (at > bytes.size() || bytes.size() - at < sizeof number) return std::nullopt;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

std::string_view text_at(std::string_view bytes, std::size_t at) {
  if (at >= bytes.size()) return {};
  const std::string_view rest = bytes.substr(at);
  const std::size_t end = rest.find('\0');
  return end == std::string_view::npos ? std::string_view{} : rest.substr(0, end);
}

std::string_view without_old_part(std::string_view cache) {
  if (!cache.starts_with(kOldMagic)) return cache;
  const std::optional<std::uint32_t> count = number_at(cache, kOldCountAt);
  if (!count) return {};
  std::size_t end = kOldHeader + std::size_t{*count} * kOldEntry;
  end = (end + 7) / 8 * 8;
  return end > cache.size() ? std::string_view{} : cache.substr(end);
}

}  // namespace

std::vector<std::string> ld_cache_libraries(std::string_view cache) {
  const std::string_view bytes = without_old_part(cache);
  if (!bytes.starts_with(kNewMagic)) return {};
  const std::size_t count = number_at(bytes, kNewCountAt).value_or(0);

  std::vector<std::string> paths;
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t entry = kNewHeader + i * kNewEntry;
    const std::optional<std::uint32_t> flags = number_at(bytes, entry);
    const std::optional<std::uint32_t> value = number_at(bytes, entry + 8);
    if (!flags || !value) break;  // the count says more than there is
    if (!is_64_bit(*flags)) continue;
    const std::string_view path = text_at(bytes, *value);
    if (path.starts_with('/') && seen.insert(path).second) paths.emplace_back(path);
  }
  return paths;
}

}  // namespace tranche::formats
