// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "formats/nested_grant_json.h"

// A grant that is parsed survives a round trip.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto grant = tranche::formats::parse_nested_grant(
      std::string_view(reinterpret_cast<const char*>(data), size));
  if (!grant) return 0;
  const auto again = tranche::formats::parse_nested_grant(tranche::formats::to_json(*grant));
  if (!again || tranche::formats::to_json(*again) != tranche::formats::to_json(*grant)) {
    std::abort();
  }
  return 0;
}
