// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/health/release.h"
#include "formats/release_json.h"

// A file that is parsed survives a round trip.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto release =
      tranche::formats::parse_release_memory({reinterpret_cast<const char*>(data), size});
  if (!release) return 0;
  const std::string once = tranche::formats::to_json(*release);
  const auto again = tranche::formats::parse_release_memory(once);
  if (!again || tranche::formats::to_json(*again) != once) std::abort();
  return 0;
}
