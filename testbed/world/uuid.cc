// SPDX-License-Identifier: Apache-2.0
#include "testbed/world/uuid.h"

#include <cstdint>

namespace tranche::testbed::sim {
namespace {

// FNV-1a over the seed, then one round of splitmix64 for each half, so that
// seeds which differ in one digit give UUIDs that look nothing alike.
std::uint64_t hash(std::string_view seed) {
  std::uint64_t value = 0xcbf29ce484222325ULL;
  for (const char c : seed) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return value;
}

std::uint64_t scramble(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15ULL;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

}  // namespace

std::string uuid_from(std::string_view seed, char version) {
  const std::uint64_t high = scramble(hash(seed));
  const std::uint64_t low = scramble(high);
  std::string digits;
  for (const std::uint64_t half : {high, low}) {
    for (int shift = 60; shift >= 0; shift -= 4) {
      digits += "0123456789abcdef"[(half >> shift) & 0xf];
    }
  }
  digits[12] = version;
  digits[16] = "89ab"[(low >> 62) & 0x3];
  return digits.substr(0, 8) + "-" + digits.substr(8, 4) + "-" + digits.substr(12, 4) + "-" +
         digits.substr(16, 4) + "-" + digits.substr(20);
}

}  // namespace tranche::testbed::sim
