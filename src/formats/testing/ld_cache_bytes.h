// SPDX-License-Identifier: Apache-2.0
//
// The bytes of an ld.so.cache, for tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tranche::formats {

struct LdCacheEntry {
  std::uint32_t flags = 0x0303;  // ELF, x86-64
  std::string path;
};

inline void put_number(std::string& bytes, std::uint32_t number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

// What glibc 2.32 and later write.
inline std::string ld_cache_bytes(const std::vector<LdCacheEntry>& entries) {
  constexpr std::uint32_t kHeader = 48, kEntry = 24;
  std::string strings;
  std::string bytes = "glibc-ld.so.cache1.1";
  put_number(bytes, static_cast<std::uint32_t>(entries.size()));
  bytes.resize(kHeader);
  const auto start = kHeader + kEntry * static_cast<std::uint32_t>(entries.size());
  for (const LdCacheEntry& entry : entries) {
    const auto path_at = start + static_cast<std::uint32_t>(strings.size());
    const auto name_at = path_at + static_cast<std::uint32_t>(entry.path.find_last_of('/') + 1);
    strings += entry.path + std::string(1, '\0');
    put_number(bytes, entry.flags);
    put_number(bytes, name_at);
    put_number(bytes, path_at);
    bytes.append(12, '\0');
  }
  return bytes + strings;
}

// The same behind one entry in the old format, as before.
inline std::string old_ld_cache_bytes(const std::vector<LdCacheEntry>& entries) {
  std::string bytes("ld.so-1.7.0\0", 12);
  put_number(bytes, 1);
  bytes.append(12, '\0');
  bytes.append(4, '\0');  // to a multiple of eight
  return bytes + ld_cache_bytes(entries);
}

}  // namespace tranche::formats
